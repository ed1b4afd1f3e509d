"""Demonstrations on a MuJoCo tabletop, one episode after another, for one process.

Labels are what the expert would do in the state that was seen, whatever was really done there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from structrl_ros.errors import SimulationError
from structrl_ros.sim.tabletop.body import TabletopBody
from structrl_ros.sim.tabletop.features import FEATURE_NAMES
from structrl_ros.sim.twin.demonstrations import ENTRIES
from structrl_ros.sim.twin.demonstrations import disturb
from structrl_ros.sim.twin.recorder import TwinEpisodes
from structrl_ros.types import Float32
from structrl_ros.world_types import Bool

#: Gives a chunk of actions (L, 7) for what is seen, (F,).
PolicyChunk = Callable[[Float32], Float32]
#: Noise (DART): standard deviation, share of episodes, share of their steps.
NOISE, NOISY_EPISODES, NOISY_STEPS = 0.15, 2.0 / 3.0, 0.5
#: Chunks of the policy, and of the expert, in a turn of a DAgger episode: first and last number.
POLICY_TURN = (2, 9)
EXPERT_TURN = (3, 8)

#: One step: what was seen (F,), the label (7,), whether the expert was at the wheel.
Step = tuple[Float32, Float32, bool]
#: Gives what is done, (7,), and whether the expert does it, for what is seen and the label.
Driver = Callable[[Float32, Float32], tuple[Float32, bool]]


def collect(
    task: str,
    episodes: int,
    seed: int,
    *,
    noise: float = NOISE,
    noisy: float = NOISY_EPISODES,
    body: TabletopBody | None = None,
) -> TwinEpisodes:
    """Return the successful ones of some episodes of the expert.

    Args:
        task: Name.
        episodes: How many are played, 1 or more.
        seed: Of the scenes and of the noise.
        noise: Standard deviation of what is added to the motion in half of the steps of noisy
            episodes, labels clean (DART); an entry of 1 is a full step.
        noisy: Share of noisy episodes.
        body: World, with the perception that is wanted; None for a new one.

    Raises:
        SimulationError: If the task is unknown, or a number is outside its range.
    """
    random = np.random.default_rng((seed, 1))

    def make() -> Driver:
        is_noisy = random.random() < noisy

        def drive(seen: Float32, label: Float32) -> tuple[Float32, bool]:
            drawn, off = random.random(), random.standard_normal(len(ENTRIES))
            if not is_noisy or drawn >= NOISY_STEPS:
                return label, True
            return disturb(label[None], noise * off[None])[0], True

        return drive

    return _play(task, episodes, seed, make, body, keep_failures=False)


def interleave(
    task: str,
    episodes: int,
    seed: int,
    policy: PolicyChunk,
    *,
    chunk_length: int,
    body: TabletopBody | None = None,
) -> TwinEpisodes:
    """Return episodes in which a policy and the expert take turns of whole chunks (DAgger).

    `by_expert` tells who was at the wheel; failures are kept.

    Args:
        task: Name.
        episodes: How many, 1 or more.
        seed: Of the scenes and of the turns.
        policy: Is asked at the begin of each of its chunks.
        chunk_length: L, rows of a chunk.
        body: World, with the perception that is wanted; None for a new one.

    Raises:
        SimulationError: If the task is unknown, or a number is outside its range.
    """
    if chunk_length < 1:
        raise SimulationError(f'chunks of {chunk_length} rows; allowed: 1 or more')
    random = np.random.default_rng((seed, 2))

    def make() -> Driver:
        rows: list[Float32] = []
        row, chunks, is_expert = 0, 0, bool(random.random() < 0.5)

        def drive(seen: Float32, label: Float32) -> tuple[Float32, bool]:
            nonlocal row, chunks, is_expert, rows
            if row == 0:
                if chunks == 0:
                    is_expert = not is_expert
                    low, high = EXPERT_TURN if is_expert else POLICY_TURN
                    chunks = int(random.integers(low, high, endpoint=True))
                chunks -= 1
                rows = [] if is_expert else list(policy(seen))
            action = label if is_expert else rows[row]
            row = (row + 1) % chunk_length
            return action, is_expert

        return drive

    return _play(task, episodes, seed, make, body, keep_failures=True)


def _play(
    task: str,
    episodes: int,
    seed: int,
    make: Callable[[], Driver],
    body: TabletopBody | None,
    *,
    keep_failures: bool,
) -> TwinEpisodes:
    if episodes < 1:
        raise SimulationError(f'{episodes} episodes; allowed: 1 or more')
    world = TabletopBody() if body is None else body
    starts = np.random.default_rng((seed, 0)).integers(0, 2**31, (episodes, 2))
    kept: list[tuple[list[Step], bool]] = []
    instruction = ''
    for start in starts.tolist():
        info = world.reset(task, *start)
        instruction = info.instruction
        steps, success = _episode(world, info.horizon_steps, make())
        if success or keep_failures:
            kept.append((steps, success))
    if body is None:
        world.close()
    return _join(kept, task, instruction)


def _episode(body: TabletopBody, horizon: int, drive: Driver) -> tuple[list[Step], bool]:
    steps: list[Step] = []
    for _ in range(horizon):
        seen, label = body.features(), body.expert_action()
        action, by_expert = drive(seen, label)
        outcome = body.step(action)
        steps.append((seen, label, by_expert))
        if outcome.success:
            return steps, True
    return steps, False


def _join(kept: list[tuple[list[Step], bool]], task: str, instruction: str) -> TwinEpisodes:
    steps = [step for episode, _ in kept for step in episode]
    by_expert: Bool = np.array([step[2] for step in steps], dtype=np.bool_)
    features = np.array([step[0] for step in steps], dtype=np.float32)
    actions = np.array([step[1] for step in steps], dtype=np.float32)
    return TwinEpisodes(
        features=features.reshape(len(steps), len(FEATURE_NAMES)),
        actions=actions.reshape(len(steps), 7),
        by_expert=by_expert,
        lengths=np.array([len(episode) for episode, _ in kept], dtype=np.intp),
        success=np.array([success for _, success in kept], dtype=np.bool_),
        tasks=(task,) * len(kept),
        instructions=(instruction,) * len(kept),
        feature_names=FEATURE_NAMES,
    )
