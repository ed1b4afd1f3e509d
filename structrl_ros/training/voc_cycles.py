"""Look-alike cycles: a block put on a peg K times and taken off in between (temporal aliasing).

Robo-Dopamine 2.0 tests history by K = 4 consecutive insertions of one block: the pictures of each
cycle are nearly equal, at another progress each time, and nothing in a picture counts the cycles.
Here they come from the tabletop's own physics, as a set like that of `counterfactual_set`.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import numpy as np

from structrl_ros.errors import TrainingError
from structrl_ros.sim.counterfactual.stage import CounterfactualStage
from structrl_ros.sim.tabletop.body import TabletopBody
from structrl_ros.sim.tabletop.experts.insert import insert
from structrl_ros.sim.tabletop.experts.motion import DIMENSION
from structrl_ros.sim.tabletop.experts.motion import OPEN
from structrl_ros.sim.tabletop.experts.motion import STEP_M
from structrl_ros.sim.tabletop.experts.motion import STEP_RAD
from structrl_ros.sim.tabletop.experts.motion import to_body
from structrl_ros.sim.tabletop.experts.pick_and_place import CLEARANCE
from structrl_ros.sim.tabletop.experts.pick_and_place import bring
from structrl_ros.sim.tabletop.experts.pick_and_place import pick
from structrl_ros.sim.tabletop.geometry import wrap
from structrl_ros.training.counterfactual_set import SourceRecord
from structrl_ros.training.counterfactual_set import write_episode
from structrl_ros.training.source_trajectory import SourceTrajectory
from structrl_ros.training.source_trajectory import spread_frames
from structrl_ros.training.voc_cycle_phases import count_phases
from structrl_ros.training.voc_cycle_phases import cycle_phases
from structrl_ros.training.voc_cycle_phases import plan_cycle_edits
from structrl_ros.types import Float64
from structrl_ros.world_types import EpisodeStart

#: The scene, and what episodes of cycles in it are called.
SCENE = 'peg_insertion'
CYCLES_TASK = 'peg_insertion_cycles'
_COUNTS = ('once', 'twice', 'three times', 'four times', 'five times', 'six times')
#: Most cycles of an episode.
MOST_CYCLES = len(_COUNTS)
#: Steps of 0.1 s in which a half cycle must be done.
_PATIENCE = 120
#: How near to where it was the block must be put down, metres, and how much of it is drawn.
_NEAR, _SCATTER = 0.02, 0.006
#: Heights to which the open hand rises after a half cycle, metres, and pauses, steps.
_RISE = (0.15, 0.22)
_PAUSES = 6
_BLOCK, _PEG = 0, 0


class _Half(StrEnum):
    """What half of a cycle the arm is in."""

    ON = 'on'
    OFF = 'off'


def cycles_instruction(cycles: int) -> str:
    """Return the sentence of an episode; it says how often, and no picture does."""
    return f'put the square block on the peg {_COUNTS[cycles - 1]} and take it off in between'


class CyclesEpisode:
    """Plays one episode on a body and keeps every state."""

    def __init__(self, body: TabletopBody, start: EpisodeStart, cycles: int) -> None:
        """Reset the body to the scene of the episode."""
        body.reset(SCENE, start.seed, start.initial_state)
        self._body = body
        self._start = start
        self._cycles = cycles
        self._rng = np.random.default_rng([start.seed, start.initial_state, cycles])
        self._home: Float64 = body.view.objects[0, _BLOCK].copy()
        self._yaw = float(body.view.object_yaws[0, _BLOCK])
        self._states = [body.simulator_state()]

    def play(self) -> list[Float64]:
        """Return the states of all steps, K insertions and the K - 1 removals between them.

        Raises:
            TrainingError: If a half cycle is not done in time.
        """
        for cycle in range(self._cycles):
            if cycle:
                self._half(_Half.OFF, self._scattered())
                self._rise()
            self._half(_Half.ON, self._home)
            self._rise()
        return self._states

    def _scattered(self) -> Float64:
        goal = self._home.copy()
        goal[:2] += self._rng.uniform(-_SCATTER, _SCATTER, 2)
        goal[2] += CLEARANCE
        return goal

    def _half(self, half: _Half, goal: Float64) -> None:
        for _ in range(_PATIENCE):
            view, task = self._body.view, self._body.task
            held = bool(view.held[0, _BLOCK])
            if not held and self._is_done(half):
                return
            if half is _Half.ON:
                move = insert(view, task, _BLOCK, _PEG)
            else:
                move = self._back(goal) if held else pick(view, task, _BLOCK)
            self._step(move)
        raise TrainingError(
            f'{CYCLES_TASK}, initial state {self._start.initial_state}: the block was not {half} '
            f'the peg after {_PATIENCE} steps'
        )

    def _back(self, goal: Float64) -> Float64:
        """Return the move to where the block was, turned as it was: a turn would tell a cycle."""
        view = self._body.view
        move = bring(view, _BLOCK, goal[None])
        turn = wrap(self._yaw - view.object_yaws[:, _BLOCK], np.pi / 2.0)
        move[:, 3] = np.clip(turn, -STEP_RAD, STEP_RAD)
        return move

    def _is_done(self, half: _Half) -> bool:
        view, task = self._body.view, self._body.task
        if half is _Half.ON:
            name = next(p.name for p in task.predicates if p.kind == 'on')
            return bool(view.truth[0, task.predicate_names.index(name)])
        off = view.objects[0, _BLOCK] - self._home
        return bool(np.abs(off[:2]).max() < _NEAR and abs(off[2]) < _NEAR)

    def _rise(self) -> None:
        height = self._rng.uniform(*_RISE)
        pause = int(self._rng.integers(_PAUSES))
        for _ in range(_PATIENCE):
            if self._body.view.tcp[0, 2] >= height:
                break
            move = np.zeros((1, DIMENSION))
            move[0, 2], move[0, 4] = STEP_M, OPEN
            self._step(move)
        for _ in range(pause):
            still = np.zeros((1, DIMENSION))
            still[0, 4] = OPEN
            self._step(still)

    def _step(self, move: Float64) -> None:
        self._body.step(to_body(move)[0])
        self._states.append(self._body.simulator_state())


def make_cycles(
    out: Path,
    initial_states: Sequence[int],
    *,
    cycles: int,
    frames: int,
    size_px: int,
    seed: int,
    test_share: float,
    on_failure: Callable[[str], None] = lambda _: None,
) -> Iterator[SourceRecord]:
    """Yield the record of each episode as soon as its files, source and edits, are written.

    Args:
        out: Folder of the set.
        initial_states: Of the scene `peg_insertion`.
        cycles: Insertions K of an episode, 1 to `MOST_CYCLES`.
        frames: Frames of an episode, evenly spread.
        size_px: Side of the pictures.
        seed: Of the scene and of what operators draw.
        test_share: Share of episodes in the split `test`.
        on_failure: Told of an episode that failed; it is left out.
    """
    body = TabletopBody()
    try:
        for initial_state in initial_states:
            start = EpisodeStart(CYCLES_TASK, seed, initial_state)
            try:
                states = spread_frames(CyclesEpisode(body, start, cycles).play(), frames)
            except TrainingError as error:
                on_failure(str(error))
                continue
            stage = CounterfactualStage(body, size_px)
            try:
                takes = tuple(stage.look(state) for state in states)
                phases = cycle_phases(takes, body.task.objects[_BLOCK].name)
                if count_phases(phases) != 2 * cycles - 1:
                    on_failure(f'{CYCLES_TASK}, initial state {initial_state}: the grip was lost')
                    continue
                source = SourceTrajectory(
                    body.spec.name, start, cycles_instruction(cycles), takes, phases
                )
                draws = np.random.default_rng([seed, initial_state, *b'edits'])
                yield write_episode(
                    out,
                    stage,
                    source,
                    seed=seed,
                    size_px=size_px,
                    test_share=test_share,
                    planned=plan_cycle_edits(source.instruction, phases, draws),
                )
            finally:
                stage.close()
    finally:
        body.close()
