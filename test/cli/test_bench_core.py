"""The plain implementations give what the core gives, and the table says what was measured."""

import io

import numpy as np
import pytest
from rich.console import Console

from structrl_ros.cli import bench_core
from structrl_ros.cli import cpu_time
from structrl_ros.cli.bench_core import RULE
from structrl_ros.cli.cpu_time import Row
from structrl_ros.learning.gae import estimate_advantages
from structrl_ros.learning.groups import group_advantages
from structrl_ros.plan.grammar import Step
from structrl_ros.plan.reward import plan_reward
from structrl_ros.progress.fusion import fuse
from structrl_ros.progress.panels import sample_window
from structrl_ros.progress.voc import compute_voc
from structrl_ros.rewards.structured import score_episode

PEER = bench_core._peer_style()
NAMES = bench_core.NAMES


@pytest.mark.torch
def test_torch_loop_gives_the_same_advantages():
    torch = pytest.importorskip('torch')
    random = np.random.default_rng(0)
    rewards, values = random.normal(size=(2, 30, 4))
    last = random.normal(size=4)
    done = random.random((30, 4)) < 0.1
    plain, returns = PEER.gae_by_torch_loop(
        *map(torch.from_numpy, (rewards, values, done, last)), 0.99, 0.95
    )
    ours = estimate_advantages(
        rewards, values, terminated=done, truncated=np.zeros_like(done),
        bootstrap=np.vstack([values[1:], last]), gamma=0.99, trace_decay=0.95,
    )  # fmt: skip
    np.testing.assert_allclose(plain.numpy(), ours.advantages, atol=1e-12)
    np.testing.assert_allclose(returns.numpy(), ours.returns, atol=1e-12)
    grouped = random.random(64)
    np.testing.assert_allclose(
        PEER.group_advantages_by_torch(torch.from_numpy(grouped), 8).numpy(),
        group_advantages(grouped, np.arange(64) // 8).advantages,
        atol=1e-12,
    )


def test_dictionaries_give_the_same_rewards():
    random = np.random.default_rng(1)
    truth = random.random((40, len(NAMES))) < 0.2
    success = random.random(40) < 0.01
    sets = [{n for n, t in zip(NAMES, row, strict=True) if t} for row in truth]
    plain = PEER.DictionaryReward(RULE.stages, RULE.durations)
    held = set()
    values = []
    for names, won in zip(sets, success, strict=True):
        held |= {name for name in names if name.startswith('grasp')}
        values.append(plain.step(dict.fromkeys(names | held, True), won))
    assert values == [chunk.value for chunk in score_episode(RULE, sets, success.tolist())]
    assert sum(values) > 1.0


def test_plain_progress_and_plan_functions_give_the_same():
    random = np.random.default_rng(2)
    anchors = random.uniform(-1.0, 1.0, (3, 20))
    np.testing.assert_allclose(PEER.fuse_by_step(*anchors), fuse(*anchors).potential, atol=1e-12)
    assert PEER.panel_by_linspace(3, 90, 9) == sample_window(3, 90, 9).tolist()
    hops, truth = random.uniform(-0.2, 0.4, 30).tolist(), np.linspace(0.0, 1.0, 31).tolist()
    assert PEER.voc_by_scipy(hops, truth) == pytest.approx(compute_voc(hops, truth, [0.0] * 30))
    plans = [[('grasp', ('cup',)), ('open', ('lid',))], [('grasp', ('mug',))]]
    steps = [[Step(verb, things) for verb, things in plan] for plan in plans]
    ontology = [['cup', 'mug']]
    assert PEER.plan_reward_by_loops(*plans, ontology) == pytest.approx(
        plan_reward(*steps, ontology)
    )


def test_row_says_whether_its_target_is_met():
    assert Row('x', 10.0, 200.0, least_ratio=10.0).is_met is True
    assert Row('x', 10.0, 90.0, least_ratio=10.0).is_met is False
    assert Row('x', 10.0, None, least_ratio=10.0).is_met is None
    assert Row('x', 160.0, 900.0, most_us=150.0).is_met is False
    assert Row('x', 10.0).is_met is None


def test_bench_prints_every_measurement_with_its_ratio(monkeypatch):
    monkeypatch.setattr(cpu_time, 'LEAST_S', 1e-4)
    monkeypatch.setattr(bench_core, 'GAE_SHAPES', ((8, 4), (512, 64)))
    console = Console(file=io.StringIO(), width=120)
    bench_core.print_bench_core(1, console)
    printed = console.file.getvalue()
    for words in (
        'GAE 512x64',
        'group advantages',
        '256 environments',
        'VOC of 64',
        'plan reward',
    ):
        assert words in printed
    rows = bench_core.bench_core(1)
    assert all(row.ours_us > 0.0 for row in rows)
    assert {row.most_us for row in rows} == {None, 150.0, 100.0}
