"""`structrl bench core`: CPU time of the numeric core beside plain implementations."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from structrl_ros.cli.cpu_time import Row
from structrl_ros.cli.cpu_time import cpu_time_us
from structrl_ros.learning.gae import estimate_advantages
from structrl_ros.learning.groups import group_advantages
from structrl_ros.params.share import share_path
from structrl_ros.plan.grammar import Step
from structrl_ros.plan.reward import plan_reward
from structrl_ros.progress.fusion import fuse
from structrl_ros.progress.panels import panel_indices
from structrl_ros.progress.panels import sample_window
from structrl_ros.progress.voc import compute_voc
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.rewards.structured_batch import BatchStructuredReward
from structrl_ros.types import RewardRule

#: Shapes (T, B) of GAE; the targets of the issue are for the third.
GAE_SHAPES = ((32, 64), (64, 128), (512, 64), (600, 256))
GAE_RATIO = 10.0
REWARD_LIMIT_US = 150.0
VOC_LIMIT_US = 100.0

RULE = RewardRule(
    stages=(('grasp_a',), ('a_in', 'b_on'), ('c_in',), ('closed',)),
    durations={'grasp_a': 4.0, 'a_in': 6.0, 'b_on': 12.0, 'c_in': 5.0, 'closed': 3.0},
)
NAMES = tuple(name for stage in RULE.stages for name in stage)


def bench_core(repeats: int) -> list[Row]:
    """Measure everything; the best of `repeats` measurements counts, on one core.

    Args:
        repeats: Repetitions of each measurement, >= 1.
    """
    random = np.random.default_rng(0)
    peer = _peer_style()
    return [
        row
        for measure in (_gae, _groups, _reward, _fusion, _panels, _voc, _plan)
        for row in measure(random, peer, repeats)
    ]


def print_bench_core(repeats: int, console: Console) -> None:
    """Measure and print a table with ratios and targets."""
    table = Table(title='CPU time of the core, one core, best of each', title_justify='left')
    table.add_column('what')
    for heading in ('ours us', 'plain us', 'ratio', 'target', ''):
        table.add_column(heading, justify='right')
    for row in bench_core(repeats):
        table.add_row(*_cells(row))
    console.print(table)


def _peer_style() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        'peer_style', share_path('benchmarks', 'peer_style.py')
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _torch() -> Any:
    """Return torch on one thread, None if it is not installed."""
    try:
        torch = importlib.import_module('torch')
    except ImportError:
        return None
    torch.set_num_threads(1)
    return torch


def _gae(random: np.random.Generator, peer: ModuleType, repeats: int) -> Iterator[Row]:
    torch = _torch()
    for steps, batch in GAE_SHAPES:
        shape = (steps, batch)
        rewards, values, bootstrap = random.normal(size=(3, *shape))
        terminated, truncated = random.random(shape) < 0.02, random.random(shape) < 0.01
        ours = cpu_time_us(
            lambda r=rewards, v=values, b=bootstrap, d=terminated, c=truncated: (  # type: ignore[misc]
                estimate_advantages(
                    r, v, terminated=d, truncated=c, bootstrap=b, gamma=0.99, trace_decay=0.95
                )
            ),
            repeats,
        )
        plain = None
        if torch is not None:
            tensors = [torch.from_numpy(a) for a in (rewards, values, terminated, bootstrap[-1])]
            plain = cpu_time_us(
                lambda t=tensors: peer.gae_by_torch_loop(*t, 0.99, 0.95),  # type: ignore[misc]
                repeats,
            )
        target = GAE_RATIO if shape == (512, 64) else None
        yield Row(f'GAE {steps}x{batch}', ours, plain, least_ratio=target)


def _groups(random: np.random.Generator, peer: ModuleType, repeats: int) -> Iterator[Row]:
    torch = _torch()
    for count in (64, 4096):
        returns, groups = random.random(count), np.arange(count) // 8
        ours = cpu_time_us(lambda r=returns, g=groups: group_advantages(r, g), repeats)  # type: ignore[misc]
        plain = None
        if torch is not None:
            tensor = torch.from_numpy(returns)
            plain = cpu_time_us(
                lambda t=tensor: peer.group_advantages_by_torch(t, 8),  # type: ignore[misc]
                repeats,
            )
        yield Row(f'group advantages, {count} rollouts', ours, plain)


def _reward(random: np.random.Generator, peer: ModuleType, repeats: int) -> Iterator[Row]:
    chunks, batch = 60, 256
    truth = random.random((chunks, batch, len(NAMES))) < 0.05
    success = random.random((chunks, batch)) < 0.005
    infos = [[dict(zip(NAMES, row, strict=True)) for row in rows.tolist()] for rows in truth]
    sets = [{name for name, is_true in rows[0].items() if is_true} for rows in infos]

    def streaming() -> None:
        reward = StructuredReward(RULE)
        for k in range(chunks):
            reward.step(sets[k], bool(success[k, 0]))

    def batched() -> None:
        reward = BatchStructuredReward([RULE] * batch)
        for k in range(chunks):
            reward.step(truth[k], success[k])

    def plain(environments: int) -> None:
        own = [peer.DictionaryReward(RULE.stages, RULE.durations) for _ in range(environments)]
        for k in range(chunks):
            for b in range(environments):
                own[b].step(infos[k][b], success[k, b])

    one = cpu_time_us(streaming, repeats) / chunks
    yield Row('reward step, 1 environment', one, cpu_time_us(lambda: plain(1), repeats) / chunks)
    yield Row(
        f'reward step, {batch} environments',
        cpu_time_us(batched, repeats) / chunks,
        cpu_time_us(lambda: plain(batch), repeats) / chunks,
        most_us=REWARD_LIMIT_US,
    )


def _fusion(random: np.random.Generator, peer: ModuleType, repeats: int) -> Iterator[Row]:
    steps, batch = 60, 256
    anchors = random.uniform(-1.0, 1.0, (3, steps, batch))
    columns = [anchors[:, :, b].tolist() for b in range(batch)]
    yield Row(
        f'fusion step, {batch} environments',
        cpu_time_us(lambda: fuse(*anchors), repeats) / steps,
        cpu_time_us(lambda: [peer.fuse_by_step(*c) for c in columns], repeats) / steps,
    )


def _panels(random: np.random.Generator, peer: ModuleType, repeats: int) -> Iterator[Row]:
    del random
    yield Row(
        'panel indices of a pair, 1 + 2 panels of 3x3',
        cpu_time_us(
            lambda: panel_indices(120, 290, pre_panels=1, between_panels=2, grid=3), repeats
        ),
        cpu_time_us(
            lambda: (peer.panel_by_linspace(0, 120, 9), peer.panel_by_linspace(121, 290, 18)),
            repeats,
        ),
    )
    yield Row('one window', cpu_time_us(lambda: sample_window(0, 300, 9), repeats))


def _voc(random: np.random.Generator, peer: ModuleType, repeats: int) -> Iterator[Row]:
    hops = random.uniform(-0.2, 0.4, 63).tolist()
    truth, floors = np.linspace(0.0, 1.0, 64).tolist(), [0.0] * 63
    yield Row(
        'VOC of 64 frames',
        cpu_time_us(lambda: compute_voc(hops, truth, floors), repeats),
        cpu_time_us(lambda: peer.voc_by_scipy(hops, truth), repeats),
        most_us=VOC_LIMIT_US,
    )


def _plan(random: np.random.Generator, peer: ModuleType, repeats: int) -> Iterator[Row]:
    verbs, things = ('grasp', 'place', 'open'), ('cup', 'mug', 'basket', 'apple', 'pen', 'lid')
    ontology = [['cup', 'mug'], ['apple', 'orange'], ['pen', 'marker']]
    drawn = [
        [(str(random.choice(verbs)), (str(random.choice(things)),)) for _ in range(10)]
        for _ in range(2)
    ]
    plans = [[Step(verb, objects) for verb, objects in plan] for plan in drawn]
    yield Row(
        'plan reward, 10 x 10 steps',
        cpu_time_us(lambda: plan_reward(plans[0], plans[1], ontology), repeats),
        cpu_time_us(lambda: peer.plan_reward_by_loops(*drawn, ontology), repeats),
    )


def _cells(row: Row) -> tuple[str, ...]:
    plain = '-' if row.plain_us is None else f'{row.plain_us:.1f}'
    ratio = '-' if row.ratio is None else f'{row.ratio:.1f}x'
    target = f'>= {row.least_ratio:g}x' if row.least_ratio is not None else ''
    target = f'<= {row.most_us:g} us' if row.most_us is not None else target
    met = {None: '', True: 'met', False: 'missed'}[row.is_met]
    return row.name, f'{row.ours_us:.1f}', plain, ratio, target, met
