"""A simulated Franka controller for a demo: franka-sim in its own virtual environment.

It speaks the real network protocol at a loopback address of its own and enforces the real limits.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from structrl_ros.cli.supervisor import prepare_child
from structrl_ros.control.robot_description import load_robot
from structrl_ros.control.robot_mjcf import mjcf
from structrl_ros.errors import ArmError

#: Folder of the virtual environment that `make franka-sim` makes.
ENVIRONMENT = '.venv-franka-sim'
#: Ports of arm and gripper, which the protocol fixes.
ARM_PORT, GRIPPER_PORT = 1337, 1338
#: Wall seconds until both ports are open.
START_SECONDS = 60.0
#: Seconds between the request to end and the end by force.
END_SECONDS = 5.0

_SERVER = """
import logging, sys
logging.basicConfig(level=logging.INFO)
from franka_sim import FrankaSimServer
FrankaSimServer(
    host=sys.argv[1],
    enforce_motion_limits=True,
    enforce_comm_constraints=True,
    gripper_object_width=float(sys.argv[2]),
).start()
"""


class SimulatedController:
    """One server process, as a context manager; it ends with this process, however that ends."""

    def __init__(self, folder: Path, *, object_width: float, number: int = 0) -> None:
        """Prepare; nothing runs before `__enter__`.

        Args:
            folder: Gets the model of the arm and the log.
            object_width: Where closing fingers stop, metres.
            number: 0 to 9, of several that one process runs side by side.

        Raises:
            ArmError: If franka-sim is not installed.
        """
        self.address = _own_address(number)
        self._python = _python()
        self._folder = folder
        self._width = object_width
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What the server says."""
        return self._folder / 'controller.log'

    def __enter__(self) -> SimulatedController:
        """Start the server and wait until it listens.

        Raises:
            ArmError: If it ends, or does not listen in time.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        model = self._folder / 'fr3.xml'
        model.write_text(mjcf(load_robot('fr3')), encoding='utf-8')
        words = [str(self._python), '-c', _SERVER, self.address, str(self._width)]
        with self.log.open('w') as log:
            self._process = subprocess.Popen(
                [*real_time_words(), *words],
                env=_environment(model),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=prepare_child,
            )
        try:
            self._wait()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End the server."""
        self.close()

    def check(self) -> None:
        """Complain if the server has ended.

        Raises:
            ArmError: With the end of its log.
        """
        if self._process is not None and self._process.poll() is not None:
            lines = self.log.read_text(errors='replace').splitlines()[-15:]
            raise ArmError(
                'the simulated controller died; the end of its log:\n' + '\n'.join(lines)
            )

    def close(self) -> None:
        """End the server; a second call does nothing."""
        process, self._process = self._process, None
        if process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            process.send_signal(number)
            try:
                process.wait(END_SECONDS)
                return
            except subprocess.TimeoutExpired:
                continue

    def _wait(self) -> None:
        """Wait until both ports are open: the arm's first, by a look that says nothing."""
        end = time.monotonic() + START_SECONDS
        while not (_is_open(self.address, GRIPPER_PORT)):
            self.check()
            if time.monotonic() > end:
                raise ArmError(
                    f'the simulated controller does not listen after {START_SECONDS:.0f} s; '
                    f'see {self.log}'
                )
            time.sleep(0.1)


def _python() -> Path:
    root = Path(__file__).resolve().parents[2]
    for folder in (Path.cwd(), root):
        python = folder / ENVIRONMENT / 'bin' / 'python'
        if python.exists():
            return python
    raise ArmError(f'no simulated controller: `make franka-sim` installs it into {ENVIRONMENT}')


def _own_address(number: int) -> str:
    """Return a loopback address that no other process of this machine takes."""
    pid = os.getpid()
    network = 60 + pid // 62500 % 6 + 6 * number
    return f'127.{network}.{pid // 250 % 250 + 1}.{pid % 250 + 1}'


def real_time_words() -> list[str]:
    """Return the words that give a command real-time priority, where that is allowed."""
    words = ['chrt', '-f', '20']
    allowed = (
        shutil.which('chrt')
        and not subprocess.run([*words, 'true'], capture_output=True, check=False).returncode
    )
    return words if allowed else []


def _environment(model: Path) -> dict[str, str]:
    """Return this environment without what leads Python to our own packages."""
    drop = ('LD_LIBRARY_PATH', 'PYTHONPATH', '_ROS_WHEELS_BOOTSTRAP_COMPLETE')
    kept = {name: value for name, value in os.environ.items() if name not in drop}
    return {**kept, 'FR3_MJCF': str(model), 'OMP_NUM_THREADS': '1'}


def _is_open(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=1.0):
            return True
    except OSError:
        return False
