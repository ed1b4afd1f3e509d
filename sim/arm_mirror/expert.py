"""`MirrorExpert`: the scripted expert of the tabletop on an arm that is mirrored."""

from __future__ import annotations

import dataclasses

import numpy as np

from structrl_ros.sim.tabletop.arm import ROTATION_RAD
from structrl_ros.sim.tabletop.arm import TRANSLATION_M
from structrl_ros.sim.tabletop.expert_policy import ExpertBody
from structrl_ros.sim.tabletop.experts.motion import OPEN
from structrl_ros.sim.twin.body import TwinBody
from structrl_ros.sim.twin.dynamics import FOLLOWING
from structrl_ros.sim.twin.expert import TwinExpert
from structrl_ros.sim.twin.state import NOTHING
from structrl_ros.sim.twin.state import empty_state
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Float64
from structrl_ros.types import Observation
from structrl_ros.types import StepOutcome
from structrl_ros.types import Subtask

#: An arm is measured so many rows behind those it was given: it is at the place of a row one
#: control period after the row was due, and its own controller follows some more behind.
LAG_ROWS = 2
#: Largest entries of a row before it is scaled: 0.25 m/s and 0.9 rad/s, which an arm within its
#: limits really follows.
LARGEST_WAY, LARGEST_TURN = 0.7, 0.25
_SCALES = np.array([TRANSLATION_M] * 3 + [ROTATION_RAD])


class _UntouchedTwin(TwinBody):
    """A twin as kinematic as the mirror: nothing slips, and a hand pushes nothing aside."""

    def __init__(self) -> None:
        super().__init__(slip=0.0)

    def step(self, action: Float32) -> StepOutcome:
        """Apply an action; what is in the hand neither before nor after it stays where it was."""
        _, state = self._placed()
        places, yaws, hand = state.objects.copy(), state.object_yaws.copy(), state.in_hand[0]
        outcome = super().step(action)
        for slot in range(len(self.task.objects)):
            if slot not in (hand, state.in_hand[0]):
                state.objects[0, slot], state.object_yaws[0, slot] = places[0, slot], yaws[0, slot]
        return outcome


class MirrorExpert(TwinExpert):
    """As `TwinExpert`, for an arm whose scene a mirror tells on `privileged/state`.

    The twin covers a share of a row in a control period, an arm covers the row, so rows are scaled
    by that share. What the arm has still to follow of earlier rows is added to where it is. The
    gripper does not lag, so its entries come so many rows later: it closes when the arm is there.
    """

    def __init__(self, *, chunk_length: int = 8) -> None:
        """Prepare; see `TabletopExpert`."""
        super().__init__(chunk_length=chunk_length)
        self.spec = dataclasses.replace(self.spec, name='mirror_expert')
        self._period_ns = round(1e9 / self.spec.control_rate_hz)
        self._due_ns = 0
        self._late: Float32 = np.full(LAG_ROWS, OPEN, dtype=np.float32)
        self._rows: Float32 = np.zeros((0, self.spec.action_dimension), dtype=np.float32)

    def reset(self, episode: Episode) -> None:
        """Forget the rows; the mirror, not the arm's episode, says which scene it is."""
        self._rows = self._rows[:0]

    def act(self, observation: Observation, subtask: Subtask, instruction: str) -> Float32:
        """Return the actions of one chunk, shape (chunk_length, 7), after the committed ones.

        Raises:
            StaleDataError: If the observation has no simulator state.
            SimulationError: If the task has no predicate that the subtask makes true.
        """
        simulator, committed = observation.simulator, observation.committed
        given = self._rows[:0] if committed is None else committed
        late = self._late
        if simulator is not None:
            ahead, grip = _ahead(simulator.state, self._to_follow(observation.stamp_ns))
            late = late if len(given) else np.full(LAG_ROWS, grip, np.float32)
            rows = _scaled(given, 1.0 / FOLLOWING)
            rows[:, 6] = np.concatenate([given[:, 6], late])[LAG_ROWS:]
            simulator = dataclasses.replace(simulator, state=ahead)
            observation = dataclasses.replace(observation, simulator=simulator, committed=rows)
        actions = _scaled(super().act(observation, subtask, instruction), FOLLOWING)
        grips = np.concatenate([late, actions[:, 6]])
        actions[:, 6], self._late = grips[: len(actions)], grips[len(actions) :]
        self._rows, self._due_ns = np.concatenate([given, actions]), observation.stamp_ns
        return actions

    def _make_body(self) -> ExpertBody:
        return _UntouchedTwin()

    def _next(self, wanted: int) -> Float32:
        """Return the action for the twin's present state, no quicker than an arm follows, (7,)."""
        action = super()._next(wanted)
        for part, largest in ((slice(0, 3), LARGEST_WAY), (slice(3, 6), LARGEST_TURN)):
            excess = float(np.abs(action[part]).max()) / largest
            action[part] /= max(1.0, excess)
        return action

    def _to_follow(self, stamp_ns: int) -> Float64:
        """Return the way of the last rows due before a stamp: x, y, z (m) and yaw (rad), (4,)."""
        passed = (stamp_ns - self._due_ns) // self._period_ns
        rows = self._rows[max(0, passed - LAG_ROWS) : max(0, passed)]
        way: Float64 = _SCALES * rows[:, [0, 1, 2, 5]].astype(np.float64).sum(axis=0)
        return way


def _scaled(actions: Float32, share: float) -> Float32:
    """Return rows (K, 7) whose displacement is scaled, and whose gripper is as it was."""
    return np.asarray(actions * np.array([share] * 6 + [1.0], dtype=np.float32), dtype=np.float32)


def _ahead(packed: Float64, way: Float64) -> tuple[Float64, float]:
    """Return the state in which arm and load have come a way (4,), and the gripper's command."""
    state = empty_state(1)
    state.unpack(0, packed)
    state.tcp[0] += way[:3]
    state.yaw[0] += way[3]
    if state.in_hand[0] != NOTHING:
        state.objects[0, state.in_hand[0]] += way[:3]
        state.object_yaws[0, state.in_hand[0]] += way[3]
    return state.pack(0), float(state.command[0])
