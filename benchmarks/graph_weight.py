"""What the deploy graph weighs: time to the first chunk, CPU while it idles, memory of each node.

Usage: .venv/bin/python benchmarks/graph_weight.py [--body libero] [--seconds 20] [--record]
The graph comes up in real time and waits for a sentence (idle), does one (the time from the
sentence to the first chunk that the body carried out), and waits again. Idle is measured for
--seconds of wall time each. CPU time is user and system time of all threads; memory is resident
(with libraries that processes share) and proportional (each page of those counted once in all).
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.cli.demo import START_SECONDS
from structrl_ros.cli.supervisor import Supervisor
from structrl_ros.nodes.task_client import Event
from structrl_ros.nodes.task_client import TaskClient
from structrl_ros.params.graph import load_graph
from structrl_ros.params.graph import process_environment
from structrl_ros.types import ChunkDone

#: Wall seconds after which a graph that came up has settled.
SETTLE_S = 3.0
_TICKS = os.sysconf('SC_CLK_TCK')


@dataclass(frozen=True)
class Idle:
    """CPU seconds of each node over wall seconds in which nothing was asked."""

    cpu_s: dict[str, float]
    wall_s: float

    @property
    def share(self) -> float:
        """Share of one core that all nodes took together."""
        return sum(self.cpu_s.values()) / self.wall_s


def nodes() -> dict[str, int]:
    """Return the process of each node that this process started, by the node's name."""
    found = {}
    for folder in Path('/proc').glob('[0-9]*'):
        try:
            stat = (folder / 'stat').read_text().rpartition(')')[2].split()
            words = (folder / 'cmdline').read_bytes().decode().split('\0')
        except OSError:
            continue
        names = [word.partition('__node:=')[2] for word in words if '__node:=' in word]
        if int(stat[1]) == os.getpid() and names:
            found[names[0]] = int(folder.name)
    return found


def cpu_seconds(process: int) -> float:
    """Return the CPU time that a process took until now."""
    stat = Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()
    return (int(stat[11]) + int(stat[12])) / _TICKS


def memory_mib(process: int) -> tuple[float, float]:
    """Return the resident and the proportional memory of a process."""
    text = Path(f'/proc/{process}/smaps_rollup').read_text()
    sizes = dict(re.findall(r'^(Rss|Pss):\s+(\d+) kB', text, re.MULTILINE))
    return int(sizes['Rss']) / 1024, int(sizes['Pss']) / 1024


def idle(seconds: float) -> Idle:
    """Measure for a while in which nothing is asked."""
    before, began = {name: cpu_seconds(pid) for name, pid in nodes().items()}, time.monotonic()
    time.sleep(seconds)
    after = {name: cpu_seconds(pid) for name, pid in nodes().items()}
    spent = {name: after[name] - before[name] for name in before if name in after}
    return Idle(spent, time.monotonic() - began)


def measure(body: str, seconds: float, folder: Path, bag: str) -> None:
    """Bring the graph up, have it do the sentence of its task, and print what it took."""
    graph = load_graph('deploy', {'body': body, 'record': bag})
    supervisor = Supervisor(
        graph.nodes,
        log_directory=folder / 'log',
        environment=process_environment(),
        on_event=print,
    )
    chunks: list[tuple[float, float]] = []

    def hear(event: Event) -> None:
        if isinstance(event, ChunkDone) and not chunks:
            chunks.append((time.monotonic(), sum(map(cpu_seconds, nodes().values()))))

    began = time.monotonic()
    supervisor.start()
    try:
        with TaskClient(hear) as client:
            episode = client.wait_for_episode(START_SECONDS)
            client.wait_for_planner(START_SECONDS)
            client.wait_for_subscribers(START_SECONDS)
            ready = time.monotonic()
            starting = sum(map(cpu_seconds, nodes().values()))
            time.sleep(SETTLE_S)
            waiting, before = idle(seconds), sum(map(cpu_seconds, nodes().values()))
            asked = time.monotonic()
            outcome = client.execute(episode.instruction)
            memory = {name: memory_mib(pid) for name, pid in nodes().items()}
            over = idle(seconds)
    finally:
        supervisor.stop()
    heard, spent = chunks[0]
    wall, cpu = ready - began + heard - asked, starting + spent - before
    print(f'{body}: {outcome.reason}')
    print(f'to the first chunk: {wall:.1f} s of wall time, {cpu:.1f} s of CPU in all nodes')
    print(f'idle: {waiting.share:.1%} of a core before the sentence, {over.share:.1%} after it')
    print('\n| node | idle before | after | resident, MiB | proportional, MiB |')
    print('|---|---|---|---|---|')
    for name, (resident, proportional) in sorted(memory.items()):
        first = waiting.cpu_s.get(name, 0.0) / waiting.wall_s
        second = over.cpu_s.get(name, 0.0) / over.wall_s
        print(f'| {name} | {first:.1%} | {second:.1%} | {resident:.0f} | {proportional:.0f} |')
    whole = sum(proportional for _, proportional in memory.values())
    print(f'| all | {waiting.share:.1%} | {over.share:.1%} | | {whole:.0f} |')


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--body', default='libero', help='body of the deploy graph')
    parser.add_argument('--seconds', type=float, default=20.0, help='wall seconds of idling')
    parser.add_argument('--record', action='store_true', help='with recorder and pictures')
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='structrl-weight-') as folder:
        bag = f'{folder}/bag' if given.record else ''
        measure(given.body, given.seconds, Path(folder), bag)


if __name__ == '__main__':
    main()
