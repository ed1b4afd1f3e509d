"""A task on a planner and a monitor: the body's time is driven by hand, calls run at once."""

from __future__ import annotations

import numpy as np

from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.session import TaskSession
from structrl_ros.plan.session_ports import Outputs
from structrl_ros.plan.session_ports import SessionSettings

TICK_NS = 200_000_000


class TaskBench:
    """Runs a task until it ends; `image` is what the head camera sees at each tick."""

    def __init__(self, planner, monitor, settings=None, session=None):
        self.planner, self.monitor = planner, monitor
        self.now, self.image = 1_000_000_000, np.zeros((8, 8, 3), np.uint8)
        self.plans, self.verdicts, self.ends = [], [], []
        self.session = TaskSession(
            Executive(settings or ExecutiveSettings(), planner.name, monitor.name),
            planner,
            monitor,
            Outputs(self.plans.append, self.verdicts.append, lambda *end: self.ends.append(end)),
            session or SessionSettings(monitor_roles=('head',)),
            self,
            spawn=lambda work: work(),
        )

    def now_ns(self):
        return self.now

    def look(self):
        """Let the monitor see `image`, stamped now."""
        self.session.update(lambda latest: latest.take_image('head', self.now, self.image))

    def start(self, sentence, scene):
        """Begin a task on what is seen."""
        self.look()
        self.session.start(Goal(sentence, 0.0, scene))
        return self

    def run(self, ticks, before=lambda tick: None):
        """Let ticks of 5 Hz pass until the task ends; `before` is called first at each."""
        for tick in range(ticks):
            if self.ends:
                break
            before(tick)
            self.now += TICK_NS
            self.look()
        return self.ends
