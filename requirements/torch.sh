#!/bin/sh
# Install torch into the virtual environment $1: the CPU build where PyTorch's own index answers
# (on Linux the plain wheel brings several GB of CUDA), else the plain wheel. $2 is the version,
# or "none".
set -eu

python="$1/bin/python"
version="$2"
index='https://download.pytorch.org/whl/cpu'

if [ "$version" = none ]; then
    echo 'structrl: leaving torch out'
    exit 0
fi
if "$python" -c "import importlib.metadata as m
raise SystemExit(m.version('torch').split('+')[0] != '$version')" 2>/dev/null; then
    exit 0
fi
answers="import urllib.request as u; u.urlopen('$index/torch/', timeout=5)"
if timeout 10 "$python" -c "$answers" >/dev/null 2>&1; then
    exec "$python" -m pip install -q "torch==$version" --extra-index-url "$index"
fi
echo "structrl: PyTorch's CPU index does not answer, taking the plain torch $version"
exec "$python" -m pip install -q "torch==$version"
