"""A simulated Franka controller in its own virtual environment, at a loopback address of its own.

It speaks the real protocol and enforces the real limits (`make franka-sim` installs it).
"""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from structrl_ros.control.robot_description import load_robot
from structrl_ros.control.robot_mjcf import mjcf

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / '.venv-franka-sim' / 'bin' / 'python'
SCRIPT = """
import ctypes, logging, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with the test
if os.getppid() != int(sys.argv[2]):
    sys.exit('who started this server is gone')
logging.basicConfig(level=logging.INFO)
from franka_sim import FrankaSimServer
FrankaSimServer(
    host=sys.argv[1],
    enforce_motion_limits=True,
    enforce_comm_constraints=True,
    gripper_object_width=0.03,
).start()
"""
OBJECT_M = 0.03


def address(number=0):
    """Return a loopback address that no other test process uses."""
    pid = os.getpid()
    return f'127.{30 + number}.{pid // 250 % 250 + 1}.{pid % 250 + 1}'


def real_time():
    """Return the words that give a command real-time priority, where that is allowed."""
    words = ['chrt', '-f', '20']
    try:
        subprocess.run([*words, 'true'], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return words


#: Without it a busy machine is late for the arm, and the arm stops, as a real one would.
needs_real_time = pytest.mark.skipif(
    not real_time() and 'STRUCTRL_TRY_WITHOUT_REAL_TIME' not in os.environ,
    reason='no real-time scheduling here (`chrt -f 20 true` must work); on a machine that has '
    'nothing else to do, try STRUCTRL_TRY_WITHOUT_REAL_TIME=1',
)


class Controller:
    """One server process; the arm stands at its start position after each connection.

    It ends with the thread that started it, however that ends.
    """

    def __init__(self, folder, number=0):
        self.address = address(number)
        model = folder / 'fr3.xml'
        model.write_text(mjcf(load_robot('fr3')))
        kept = {k: v for k, v in os.environ.items() if k not in ('LD_LIBRARY_PATH', 'PYTHONPATH')}
        kept.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None)
        self.log = folder / f'controller_{number}.log'
        with self.log.open('w') as log:
            self.process = subprocess.Popen(
                [*real_time(), str(PYTHON), '-c', SCRIPT, self.address, str(os.getpid())],
                env={**kept, 'FR3_MJCF': str(model), 'OMP_NUM_THREADS': '1'},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait()

    def _wait(self):
        end = time.monotonic() + 60.0
        while time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()
            if 'Gripper server running' in self.log.read_text():
                with socket.create_connection((self.address, 1338), timeout=5.0):
                    return
            time.sleep(0.1)
        raise AssertionError(f'no controller within 60 s:\n{self.log.read_text()}')

    def violations(self):
        """Return the lines of its log that say why it stopped the arm."""
        return [x for x in self.log.read_text().splitlines() if 'Control session ended (' in x]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            self.kill()
