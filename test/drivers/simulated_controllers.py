"""Simulated Franka controllers for tests: those of `structrl demo --body franka-sim`."""

import os
import signal
from pathlib import Path

import pytest

from structrl_ros.cli.simulated_controller import ENVIRONMENT
from structrl_ros.cli.simulated_controller import SimulatedController
from structrl_ros.cli.simulated_controller import real_time_words

PYTHON = Path(__file__).parents[2] / ENVIRONMENT / 'bin' / 'python'
OBJECT_M = 0.03

#: Without it a busy machine is late for the arm, and the arm stops, as a real one would.
needs_real_time = pytest.mark.skipif(
    not real_time_words() and 'STRUCTRL_TRY_WITHOUT_REAL_TIME' not in os.environ,
    reason='no real-time scheduling here (`chrt -f 20 true` must work); on a machine that has '
    'nothing else to do, try STRUCTRL_TRY_WITHOUT_REAL_TIME=1',
)


class Controller(SimulatedController):
    """One that runs from the start; the arm stands at its start after each connection."""

    def __init__(self, folder, number=0):
        super().__init__(folder / f'controller_{number}', object_width=OBJECT_M, number=number)
        self.__enter__()

    def violations(self):
        """Return the lines of its log that say why it stopped the arm."""
        return [x for x in self.log.read_text().splitlines() if 'Control session ended (' in x]

    def kill(self):
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
