"""The expert of a mirrored arm, on an arm that is where it was told two control periods ago."""

import numpy as np
import pytest

pytest.importorskip('mujoco')

from structrl_ros.control.inverse_kinematics import InverseKinematics
from structrl_ros.control.kinematics import Kinematics
from structrl_ros.control.robot_description import load_robot
from structrl_ros.control.rotations import matrix_from_vector
from structrl_ros.sim.arm_mirror.expert import MirrorExpert
from structrl_ros.sim.arm_mirror.mirror import ArmMirror
from structrl_ros.sim.arm_mirror.mirror import object_width
from structrl_ros.types import Observation
from structrl_ros.types import SimulatorState
from structrl_ros.types import Subtask

pytestmark = pytest.mark.sim

FR3 = load_robot('fr3')
KINEMATICS = Kinematics(FR3, 'hand')
SOLVER = InverseKinematics(KINEMATICS, FR3.limits, iterations=20, largest_step=0.3)
START = np.array([0.0, 0.0, 0.0, -1.57, 0.0, 1.57, 0.785])
PERIOD_NS, LAG, ROWS, LEAD = 100_000_000, 2, 10, 5


class LaggingArm:
    """Runs rows as arm_node does, and is measured late; the gripper acts at once."""

    def __init__(self, task):
        self.mirror = ArmMirror()
        self.task, self.width = task, object_width(task)
        self.names = self.mirror.reset(task, 0, 0).predicate_names
        self.pose = KINEMATICS.forward(START)
        self.told = [self.pose.copy()] * (LAG + 1)
        self.joints, self.opening, self.closed = START, 0.08, 0
        self.periods = 0
        self.measure()

    def run(self, row):
        self.pose[:3, 3] += 0.05 * row[:3]
        self.pose[:3, :3] = matrix_from_vector(0.5 * row[3:6].astype(float)) @ self.pose[:3, :3]
        self.told = [*self.told[1:], self.pose.copy()]
        opening = self.width if row[6] > 0.5 else 0.08
        self.closed += opening < self.opening
        self.opening = opening
        self.periods += 1
        self.measure()

    def measure(self):
        self.joints = SOLVER.solve(self.told[0], self.joints).position
        self.mirror.follow(self.joints, np.zeros(7), self.opening)

    @property
    def true(self):
        values, _ = self.mirror.judge()
        return {n for n, v in zip(self.names, values, strict=True) if v}

    def observe(self, committed):
        now_ns = PERIOD_NS * self.periods
        state = SimulatorState(
            now_ns, 1, 0, self.periods, self.task, 0, 0, self.mirror.simulator_state()
        )
        return Observation(now_ns, 1, simulator=state, committed=committed)


def carry_out(arm, expert, subtask, wanted, limit):
    """Ask for a chunk when `LEAD` rows are left, until the predicate is true."""
    rows = np.zeros((0, 7), np.float32)
    for _ in range(limit):
        rows = np.concatenate([rows, expert.act(arm.observe(rows), subtask, '')])
        while len(rows) > LEAD:
            arm.run(rows[0])
            rows = rows[1:]
            if wanted in arm.true:
                return
    raise AssertionError(f'{wanted} was not made true within {limit} chunks')


def grasp(name):
    return Subtask('1', f'grasp the {name}', 'grasp', (name,), 0)


def place(name, where):
    return Subtask('2', f'place the {name} in the {where}', 'place', (name, where), 1)


def test_the_hand_closes_once_it_is_there_and_opens_over_the_bowl():
    arm, expert = LaggingArm('apple_in_bowl'), MirrorExpert(chunk_length=ROWS)
    carry_out(arm, expert, grasp('apple'), 'grasp(apple_1)', 10)
    assert arm.closed == 1
    carry_out(arm, expert, place('apple', 'bowl'), 'in(apple_1, bowl_1_contain_region)', 10)
    assert arm.closed == 1
    expert.close()


def test_a_block_that_lies_aslant_is_gripped_across():
    arm, expert = LaggingArm('two_in_basket'), MirrorExpert(chunk_length=ROWS)
    carry_out(arm, expert, grasp('cheese'), 'grasp(cheese_1)', 12)
    place_name = 'in(cheese_1, basket_1_contain_region)'
    carry_out(arm, expert, place('cheese', 'basket'), place_name, 12)
    assert arm.closed <= 2
    expert.close()


def test_rows_ask_for_no_more_than_an_arm_follows():
    arm, expert = LaggingArm('two_in_basket'), MirrorExpert(chunk_length=ROWS)
    rows = expert.act(arm.observe(None), grasp('cheese'), '')
    assert rows.shape == (ROWS, 7)
    assert np.abs(rows[:, :3]).max() * 0.05 / 0.1 <= 0.2451
    assert 0.5 <= np.abs(rows[:, 3:6]).max() * 0.5 / 0.1 <= 0.8751
    expert.close()
