"""Episodes of the kinematic twin with its scripted expert, a CPU-second, by number of lanes.

    python benchmarks/twin_throughput.py [--task pack_lunch] [--lanes 64 256 1024 2048 4096]

Every lane plays one episode to its success; the time is that of world and expert in this process.
`--no-expert` steps chunks of 5 random rows for 100 steps and reads features after each chunk, as a
trainer does.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from structrl_ros.sim.twin.world import TwinWorld
from structrl_ros.world_types import EpisodeStart

RANDOM_CHUNKS = 20
ROWS = 5


def play_expert(task: str, lanes: int) -> tuple[int, int, int]:
    """Return how many episodes were played, how many succeeded, and their low-level steps."""
    world = _begin(task, lanes)
    active, success, steps = np.ones(lanes, dtype=bool), 0, 0
    while active.any():
        done = world.run_chunk(world.expert_actions()[:, None], active)
        success += int(done.success.sum())
        steps += int(done.steps.sum())
        active &= ~(done.terminated | done.truncated)
    return lanes, success, steps


def play_random(task: str, lanes: int) -> int:
    """Return how many low-level steps were made."""
    world = _begin(task, lanes)
    random = np.random.default_rng(0)
    active, steps = np.ones(lanes, dtype=bool), 0
    for _ in range(RANDOM_CHUNKS):
        chunk = random.uniform(-1.0, 1.0, (lanes, ROWS, 7)).astype(np.float32)
        done = world.run_chunk(chunk, active)
        world.features()
        steps += int(done.steps.sum())
        active &= ~(done.terminated | done.truncated)
    return steps


def main() -> None:
    """Measure and print a line a number of lanes."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--task', default='pack_lunch')
    parser.add_argument('--lanes', type=int, nargs='+', default=[64, 256, 1024, 2048, 4096])
    parser.add_argument('--no-expert', action='store_true')
    asked = parser.parse_args()
    for lanes in asked.lanes:
        begun = time.process_time()
        if asked.no_expert:
            steps = play_random(asked.task, lanes)
            spent = time.process_time() - begun
            print(f'{lanes} lanes: {steps / spent:.0f} steps/s, {1e6 * spent / steps:.2f} us each')
        else:
            episodes, success, steps = play_expert(asked.task, lanes)
            spent = time.process_time() - begun
            print(
                f'{lanes} lanes: {episodes / spent:.0f} episodes/s, {steps / spent:.0f} steps/s, '
                f'success {success / episodes:.3f}'
            )


def _begin(task: str, lanes: int) -> TwinWorld:
    world = TwinWorld(lanes)
    world.reset({lane: EpisodeStart(task, lane, 0) for lane in range(lanes)})
    return world


if __name__ == '__main__':
    main()
