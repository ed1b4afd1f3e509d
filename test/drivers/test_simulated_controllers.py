"""The simulated controllers of the tests leave nothing behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from simulated_controllers import PYTHON

if not PYTHON.exists():
    pytest.skip('no simulated controller: make franka-sim', allow_module_level=True)

pytestmark = [pytest.mark.hardware_sim, pytest.mark.timeout(180)]

#: What a test process does: start a controller, and go on with something else.
TEST = """
import sys, time
from pathlib import Path
sys.path.insert(0, {folder!r})
from simulated_controllers import Controller
controller = Controller(Path({place!r}), number=4)
print(controller.process.pid, flush=True)
time.sleep(600)
"""


def is_running(pid):
    try:
        state = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]
    except FileNotFoundError:
        return False
    return state != 'Z'


@pytest.mark.parametrize('by', [signal.SIGKILL, signal.SIGTERM])
def test_controller_ends_with_a_test_process_that_is_killed(tmp_path, by):
    code = TEST.format(folder=str(Path(__file__).parent), place=str(tmp_path))
    test = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE, text=True)
    server = int(test.stdout.readline())
    try:
        assert is_running(server)
        os.kill(test.pid, by)
        test.wait(60.0)
        end = time.monotonic() + 60.0
        while is_running(server):
            assert time.monotonic() < end, 'the controller outlived the test'
            time.sleep(0.05)
    finally:
        test.kill()
        test.stdout.close()
        if is_running(server):
            os.kill(server, signal.SIGKILL)
