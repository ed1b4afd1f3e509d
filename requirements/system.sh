#!/bin/sh
# Install the system packages that wheels cannot bring, or say in one line which are missing.
# Exit status 1 only where nothing can work without them.
set -u

needed='gcc g++ make python3-venv python3-dev'
cameras='libusb-1.0-0'
rendering='libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri libosmesa6'

is_there() {
    case $1 in
    # These come with many Pythons and compilers that are no Debian packages.
    gcc | g++ | make) command -v "$1" >/dev/null 2>&1 ;;
    python3-venv) "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null ;;
    python3-dev) "$PYTHON" -c 'import os, sysconfig as s
raise SystemExit(not os.path.exists(os.path.join(s.get_path("include"), "Python.h")))' ;;
    libosmesa6) has_library libOSMesa.so.8 || has_library libOSMesa.so.6 ;;
    libegl1) has_library libEGL.so.1 ;;
    libgl1) has_library libGL.so.1 ;;
    libusb-1.0-0) has_library libusb-1.0.so.0 ;;
    *) dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed' ;;
    esac
}

has_library() {
    "$PYTHON" -c "import ctypes; ctypes.CDLL('$1')" 2>/dev/null
}

missing_of() {
    for package in $1; do
        is_there "$package" || printf '%s ' "$package"
    done
}

PYTHON=${PYTHON:-python3}
missing="$(missing_of "$needed")$(missing_of "$rendering")$(missing_of "$cameras")"
[ -z "$missing" ] && exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "structrl: no apt-get here; install what these Debian packages hold: $missing" >&2
    [ -z "$(missing_of "$needed")" ]
    exit
fi

if [ "$(id -u)" = 0 ]; then
    as_root=''
elif command -v sudo >/dev/null 2>&1 && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    as_root='sudo'
else
    echo "structrl: not root; have somebody run: apt-get install $missing" >&2
    [ -z "$(missing_of "$needed")" ]
    exit
fi

echo "structrl: installing system packages: $missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq || echo 'structrl: apt-get update failed, going on with old lists' >&2
for package in $missing; do
    # One by one: not every release has each of them (libosmesa6 left with Debian 13).
    if ! $as_root apt-get install -y -qq --no-install-recommends "$package" >/dev/null; then
        echo "structrl: could not install $package" >&2
    fi
done
[ -z "$(missing_of "$needed")" ]
