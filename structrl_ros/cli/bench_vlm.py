"""`structrl bench vlm`: what a call of a local planner or monitor takes, and the rate it holds."""

from __future__ import annotations

import json as json_text
import time
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from structrl_ros.types import Observation
from structrl_ros.types import PlanRequest
from structrl_ros.types import Subtask
from structrl_ros.types import UInt8

if TYPE_CHECKING:
    from structrl_ros.models.vlm.loading import LoadedVlm
    from structrl_ros.models.vlm.loading import VlmSettings

#: What REVER asks of its monitor (Section III-C2).
WANTED_HZ = 5.0
SCENE = ('alphabet soup', 'basket', 'white mug', 'plate')


@dataclass(frozen=True, slots=True)
class CallTimes:
    """Times of the calls of one kind: wall and CPU time of the process, seconds.

    `tokens` and `reused` count the question's tokens, and those known from the call before.
    `rate_hz` is what the median wall time holds.
    """

    name: str
    calls: int
    wall_p50_s: float
    wall_p99_s: float
    cpu_p50_s: float
    rate_hz: float
    tokens: int = 0
    reused: int = 0


def bench_vlm(
    model: Annotated[str, typer.Argument(help='Folder or hub id of a vision-language model.')],
    adapter: Annotated[str, typer.Option(help='Folder of a LoRA adapter for it.')] = '',
    calls: Annotated[int, typer.Option(min=2, help='Calls of the monitor of each kind.')] = 20,
    size: Annotated[int, typer.Option(min=28, help='Width and height of the images.')] = 224,
    cameras: Annotated[int, typer.Option(min=1, max=3, help='Images of one moment.')] = 1,
    device: Annotated[str, typer.Option(help='auto, cpu, cuda or mps.')] = 'auto',
    dtype: Annotated[str, typer.Option(help='auto, float32, bfloat16 or float16.')] = 'auto',
    four_bit: Annotated[bool, typer.Option('--four-bit', help='Weights in 4 bit.')] = False,
    threads: Annotated[int, typer.Option(min=0, help='CPU threads; 0: as torch likes.')] = 1,
    plan_tokens: Annotated[
        int, typer.Option(min=0, help='Longest answer of the one plan that is timed; 0: none.')
    ] = 256,
    json: Annotated[Path | None, typer.Option('--json', help='Also write the rows here.')] = None,
) -> None:
    """Latency of a call of a local planner and monitor, and the rate that it can hold.

    Example: [bold]structrl bench vlm Qwen/Qwen2.5-VL-3B-Instruct --calls 50[/]
    """
    from structrl_ros.models.vlm.loading import VlmSettings

    console = Console(soft_wrap=True)
    settings = VlmSettings(
        model=model,
        adapter=adapter,
        device=device,
        dtype=dtype,
        four_bit=four_bit,
        threads=threads,
    )
    rows = measure(settings, calls, size, cameras, plan_tokens)
    console.print(table(rows, f'{model}: {cameras} images of {size} x {size} a moment'))
    held = rows[0].rate_hz
    verdict = 'is held' if held >= WANTED_HZ else 'is not held'
    console.print(f'{WANTED_HZ:g} Hz {verdict}: a monitor on this machine holds {held:.2f} Hz')
    if json is not None:
        json.write_text(json_text.dumps([asdict(row) for row in rows], indent=2) + '\n')


def measure(
    settings: VlmSettings,
    calls: int,
    size: int,
    cameras: int,
    plan_tokens: int = 256,
) -> list[CallTimes]:
    """Return the times of the monitor, with and without reuse, and of one plan.

    Args:
        settings: VlmSettings of the model.
        calls: Calls of the monitor of each kind, after one that is not counted.
        size: Width and height of the images, pixels.
        cameras: Images of one moment, 1 to 3.
        plan_tokens: Longest answer of the plan that is timed as well, 0 times none.

    Raises:
        StructRLError: If the model cannot be had.
    """
    from structrl_ros.models.vlm.loading import load_vlm
    from structrl_ros.types import ROLES

    vlm = load_vlm(settings)
    roles = ROLES[:cameras]
    moments = _moments(calls + 2, size, roles)
    rows = [_monitor_row(vlm, roles, moments, reuse) for reuse in (True, False)]
    if plan_tokens:
        from structrl_ros.models.vlm.local_planner import LocalPlanner

        planner = LocalPlanner(vlm, roles, max_tokens=plan_tokens)
        request = PlanRequest('put the alphabet soup in the basket', SCENE, moments[0])
        rows.append(_row('plan', [_timed(lambda: planner.propose(request), vlm)]))
    return rows


def table(rows: Sequence[CallTimes], title: str) -> Table:
    """Return the rows as a table."""
    shown = Table(title=title, title_justify='left')
    shown.add_column('what', no_wrap=True)
    for heading in ('calls', 'wall p50 ms', 'wall p99 ms', 'CPU ms', 'Hz', 'tokens', 'reused'):
        shown.add_column(heading, justify='right')
    for row in rows:
        milliseconds = (row.wall_p50_s, row.wall_p99_s, row.cpu_p50_s)
        shown.add_row(
            row.name,
            str(row.calls),
            *(f'{1000 * value:.1f}' for value in milliseconds),
            f'{row.rate_hz:.2f}',
            str(row.tokens or '-'),
            str(row.reused or '-'),
        )
    return shown


def _monitor_row(
    vlm: LoadedVlm, roles: Sequence[str], moments: Sequence[Observation], reuse: bool
) -> CallTimes:
    """Return the times of a monitor through one step; the first call is not counted."""
    from structrl_ros.models.vlm.local_monitor import LocalMonitor

    monitor = LocalMonitor(vlm, roles, reuse=reuse)
    step = Subtask('grasp(alphabet soup)', 'grasp alphabet soup', 'grasp', ('alphabet soup',), 0)
    start, first, *rest = moments
    monitor.verify(step, start, first)
    pairs = [_timed(partial(monitor.verify, step, start, now), vlm) for now in rest]
    name = 'monitor, same step' if reuse else 'monitor, from its start'
    prefix = monitor.prefix
    return _row(name, pairs, prefix.reused + prefix.computed, prefix.reused)


def _row(
    name: str, pairs: Sequence[tuple[float, float]], tokens: int = 0, reused: int = 0
) -> CallTimes:
    wall, cpu = np.array(pairs).T
    middle, worst = np.percentile(wall, (50, 99))
    return CallTimes(
        name,
        len(pairs),
        float(middle),
        float(worst),
        float(np.median(cpu)),
        float(1.0 / middle),
        tokens,
        reused,
    )


def _timed(call: Callable[[], object], vlm: LoadedVlm) -> tuple[float, float]:
    """Return wall and CPU time of a call, a GPU's work included."""
    _wait_for(vlm)
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    _wait_for(vlm)
    return time.perf_counter() - wall, time.process_time() - cpu


def _wait_for(vlm: LoadedVlm) -> None:
    """Wait until the device has done what it was given."""
    import torch

    if vlm.model.device.type == 'cuda':
        torch.cuda.synchronize()


def _moments(count: int, size: int, roles: Sequence[str]) -> list[Observation]:
    """Return moments with different images: noise, as what they show does not matter here."""
    random = np.random.default_rng(0)

    def image() -> UInt8:
        return random.integers(0, 255, (size, size, 3), dtype=np.uint8)

    return [Observation(k + 1, 1, images={r: image() for r in roles}) for k in range(count)]
