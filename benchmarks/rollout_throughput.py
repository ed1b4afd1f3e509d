"""Throughput of rollouts: in this process, in a pool, through topics, on Ray.

    python benchmarks/rollout_throughput.py [--body tabletop] [--episodes 4] [--segments 3]

A flow policy with random weights plays whole episodes, the same in every kind of world. CPU
seconds are those of all processes, wall seconds say something only where cores are free (the load
is printed). What else the machine does only ever adds, so each kind plays its episodes several
times, in turns with the others, and the quietest segment counts.

Targets, on tabletop with state vectors: through topics at least 0.8 of in process by CPU, one
lane each; Ray with two actors at least 1.6 of one by wall, where two cores are free; at most 15 %
of the CPU outside physics and network.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import ExitStack
from contextlib import contextmanager
from dataclasses import asdict
from dataclasses import dataclass
from typing import Any

from bridge_overhead import _environment
from bridge_overhead import cpu_seconds
from rollout_report import Row
from rollout_report import report

KINDS = ('process', 'pool', 'topics', 'two topics', 'ray 1', 'ray 2')
CHUNK_LENGTH = 5


@dataclass(frozen=True, slots=True)
class Segment:
    """What one collection took; `network` and `physics` are CPU seconds within `cpu`."""

    episodes: int
    steps: int
    wall: float
    cpu: float
    physics: float
    network: float


class Player:
    """A kind of world in a process of its own, so that nothing of another kind is in its way."""

    def __init__(self, kind: str, body: str, task: str, episodes: int) -> None:
        words = ['--player', kind, '--body', body, '--episodes', str(episodes), '--task', task]
        self.kind = kind
        self._process = subprocess.Popen(
            [sys.executable, __file__, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=_environment(os.getpid() % 100 + 1 if kind == 'topics' else os.getpid() % 99 + 2),
        )

    def __enter__(self) -> Player:
        """Wait until it has played once: scenes, caches."""
        self.lanes, self.processes = json.loads(self._line())
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def play(self) -> Segment:
        """Play the episodes once."""
        assert self._process.stdin is not None
        self._process.stdin.write('go\n')
        self._process.stdin.flush()
        return Segment(**json.loads(self._line()))

    def _line(self) -> str:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            if line.startswith(('[', '{')):
                return line
        raise SystemExit(f'{self.kind}: ended with status {self._process.wait()}')


def main() -> int:
    """Print the table; 1 if a target that can be judged is missed on tabletop."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--body', default='tabletop')
    parser.add_argument('--task', default='')
    parser.add_argument('--episodes', type=int, default=4)
    parser.add_argument('--segments', type=int, default=3)
    parser.add_argument('--kinds', default=','.join(KINDS), help=f'of {", ".join(KINDS)}')
    parser.add_argument('--json', default='', help='file for the numbers')
    parser.add_argument('--player', help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.player:
        return run_player(words.player, words.body, words.task, words.episodes)
    kinds = [kind.strip() for kind in words.kinds.split(',')]
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        parser.error(f'unknown kind {unknown[0]!r}; known: {", ".join(KINDS)}')
    before = os.getloadavg()[0]
    rows = measure(words.body, words.task, kinds, words.episodes, words.segments)
    document = report(f'{words.body}: flow policy, chunks of {CHUNK_LENGTH}', rows, before)
    if words.json:
        with open(words.json, 'w', encoding='utf-8') as file:
            json.dump(document, file, indent=1)
    targets = document['targets'].values() if words.body == 'tabletop' else ()
    return 0 if all(target['is_met'] is not False for target in targets) else 1


def measure(
    body: str, task: str, kinds: list[str], episodes: int, segments: int
) -> dict[str, Row]:
    """Return a row a kind; the kinds take turns."""
    best: dict[str, tuple[Player, Segment, Segment]] = {}
    with ExitStack() as stack:
        players = [stack.enter_context(Player(kind, body, task, episodes)) for kind in kinds]
        for _ in range(segments):
            for one in players:
                now = one.play()
                _, by_cpu, by_wall = best.get(one.kind, (one, now, now))
                by_cpu = min(by_cpu, now, key=lambda s: s.cpu)
                by_wall = min(by_wall, now, key=lambda s: s.wall)
                best[one.kind] = (one, by_cpu, by_wall)
    bare = best['process'][1] if 'process' in best else None
    return {kind: _row(*found, bare) for kind, found in best.items()}


def _row(one: Player, by_cpu: Segment, by_wall: Segment, bare: Segment | None) -> Row:
    """Return the numbers; the physics inside sim_node is taken to be that of this process."""
    physics = by_cpu.physics
    if 'topics' in one.kind and bare is not None:
        physics += bare.physics / bare.steps * by_cpu.steps
    return Row(
        kind=one.kind,
        lanes=one.lanes,
        processes=one.processes,
        episodes_per_wall_s=by_wall.episodes / by_wall.wall,
        steps_per_wall_s=by_wall.steps / by_wall.wall,
        episodes_per_cpu_s=by_cpu.episodes / by_cpu.cpu,
        steps_per_cpu_s=by_cpu.steps / by_cpu.cpu,
        physics=physics / by_cpu.cpu,
        network=by_cpu.network / by_cpu.cpu,
        other=1.0 - (physics + by_cpu.network) / by_cpu.cpu,
    )


def run_player(kind: str, body: str, task: str, episodes: int) -> int:
    """Play once for each line of standard input; print what it took."""
    import torch

    torch.set_num_threads(1)
    lanes = {'process': 1, 'pool': 4, 'topics': 1, 'two topics': 2, 'ray 1': 4, 'ray 2': 8}[kind]
    processes = {'process': 0, 'pool': 2, 'topics': 1, 'two topics': 2, 'ray 1': 1, 'ray 2': 2}
    with ExitStack() as stack:
        world, pids = _make_world(stack, kind, body, lanes, processes[kind])
        play = _player(world, body, task, episodes, pids)
        play()
        print(json.dumps([lanes, processes[kind]]), flush=True)
        while sys.stdin.readline():
            print(json.dumps(asdict(play())), flush=True)
    return 0


def _make_world(
    stack: ExitStack, kind: str, body: str, lanes: int, processes: int
) -> tuple[Any, list[int]]:
    """Return a kind of world, and the processes beside it whose CPU it does not tell itself."""
    from structrl_ros.training.body_worlds import world_maker

    pids: list[int] = []
    if 'topics' in kind:
        nodes = [stack.enter_context(_sim_node(body, lane)) for lane in range(lanes)]
        pids = [node.pid for node in nodes]
        from structrl_ros.nodes.ros_world import RosWorld

        world: Any = RosWorld([_namespace(lane) for lane in range(lanes)])
    elif 'ray' in kind:
        from structrl_ros.training.ray_rollouts import RayWorkers

        make = world_maker(body, environments=lanes // processes, workers=1)
        world = RayWorkers(make, address='local', actors=processes)
    else:
        world = world_maker(body, environments=lanes, workers=max(1, processes))()
    stack.callback(world.close)
    return world, pids


def _player(
    world: Any, body: str, task: str, episodes: int, pids: list[int]
) -> Callable[[], Segment]:
    import torch

    from structrl_ros.models.policies.flow import FlowConfig
    from structrl_ros.models.policies.registry import make_policy
    from structrl_ros.sim.registry import default_task
    from structrl_ros.training.collecting import collect
    from structrl_ros.world_types import EpisodeStart

    torch.manual_seed(0)
    names = world.spec.feature_names
    policy = make_policy(FlowConfig(feature_names=names, chunk_length=CHUNK_LENGTH))
    starts = [EpisodeStart(task or default_task(body), seed, 0) for seed in range(episodes)]

    def play() -> Segment:
        nodes = sum(map(cpu_seconds, pids))
        began = time.perf_counter()
        played = collect(policy, world, starts, seed=0, iteration=0, explore=True)
        wall = time.perf_counter() - began
        nodes = sum(map(cpu_seconds, pids)) - nodes
        cpu = played.cpu
        return Segment(
            episodes, int(played.steps.sum()), wall, cpu.total + nodes, cpu.physics, cpu.network
        )

    return play


def _namespace(lane: int) -> str:
    return f'/lane_{lane}'


@contextmanager
def _sim_node(body: str, lane: int) -> Iterator[subprocess.Popen[bytes]]:
    words = [f'body:={body}', 'lockstep:=true']
    command = [sys.executable, '-m', 'structrl_ros.nodes.sim_node', '--ros-args']
    command += [w for word in words for w in ('-p', word)]
    process = subprocess.Popen([*command, '-r', f'__ns:={_namespace(lane)}'])
    try:
        yield process
    finally:
        process.terminate()
        process.wait(10)


if __name__ == '__main__':
    sys.exit(main())
