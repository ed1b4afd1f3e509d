"""`structrl bench mart`: arms that differ in failure feedback alone, and gradients of groups."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip('torch')

import torch
from drawn_rollouts import draw_rollouts
from drawn_rollouts import small_flow
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import ParameterError
from structrl_ros.errors import TrainingError
from structrl_ros.learning.truncation import truncate_failures
from structrl_ros.training.experiments.gradient_test import gradient_test
from structrl_ros.training.experiments.mart_bench import COPIES
from structrl_ros.training.experiments.mart_bench import FEEDBACK
from structrl_ros.training.experiments.mart_bench import MART
from structrl_ros.training.experiments.mart_bench import MART_QUICK
from structrl_ros.training.experiments.mart_bench import SIMULATOR
from structrl_ros.training.experiments.mart_bench import choose_arms
from structrl_ros.training.experiments.outcomes import Outcome
from structrl_ros.training.experiments.outcomes import Outcomes
from structrl_ros.training.experiments.plan import Cell
from structrl_ros.training.experiments.runner import Runner
from structrl_ros.training.group_gradients import group_gradients
from structrl_ros.training.samples import chunk_samples

pytestmark = pytest.mark.torch

OTHERS = [name for name in FEEDBACK if name not in COPIES]


def outcome(success, retained=0.5):
    return Outcome(
        episodes=100,
        successes=round(100 * success),
        subtasks={'open(it)': 90},
        premature=0,
        steps=200.0,
        idle=3.0,
        curve={'success': [success], 'retained': [1.0, retained], 'fallbacks': [3.0, None]},
        seen_episodes=50,
        seen_successes=round(50 * success),
    )


def outcomes(experiment, values):
    found = {}
    for arm in experiment.arms:
        cells = [cell for cell in experiment.cells() if cell.arm is arm]
        for cell, success in zip(cells, values.get(arm.name, [0.5] * len(cells)), strict=True):
            found[cell.key] = outcome(success)
    return Outcomes(experiment, found)


def test_arms_differ_in_the_feedback_on_failures_alone():
    (terminal, structured, *_) = MART.experiments()
    for experiment in (terminal, structured):
        arms = [arm for arm in experiment.arms if arm.trainer]
        assert [arm.name for arm in arms] == list(FEEDBACK)
        cleared = [dataclasses.replace(arm, copies=None).document() for arm in arms]
        for document in cleared:
            settings = {k: v for k, v in document['settings'].items() if k not in ('events',)}
            document['settings'] = {**settings, 'failure_feedback': ''}
        assert all(document == cleared[0] for document in cleared)


def test_controls_copy_the_simulators_run_of_the_same_seed():
    arms = {arm.name: arm for arm in MART.experiments()[0].arms}
    for name in COPIES:
        assert arms[name].copies == arms[SIMULATOR]
        assert Cell(arms[name].copies, 3).key == Cell(arms[SIMULATOR], 3).key
    assert arms[SIMULATOR].keep
    assert all(arms[name].copies is None for name in OTHERS)


def test_another_run_to_copy_is_another_cell():
    arm = next(arm for arm in MART.experiments()[0].arms if arm.name == COPIES[0])
    other = dataclasses.replace(arm.copies, settings={**arm.copies.settings, 'iterations': 1})
    assert Cell(dataclasses.replace(arm, copies=other), 1).key != Cell(arm, 1).key


def test_an_arm_is_chosen_with_the_one_that_it_copies():
    experiment = MART.experiments()[0]
    chosen = choose_arms(experiment, ['uniform scaling'])
    assert [arm.name for arm in chosen.arms if arm.trainer] == [SIMULATOR, 'uniform scaling']
    assert choose_arms(experiment, []).arms == experiment.arms
    with pytest.raises(ParameterError, match="unknown arm 'x'; known: full, MART simulator"):
        choose_arms(experiment, ['x'])


def test_pairs_are_of_one_seed_and_what_was_not_run_is_not_compared():
    experiment = dataclasses.replace(choose_arms(MART.experiments()[0], OTHERS[:2]), seeds=3)
    found = experiment.judge(
        outcomes(experiment, {'full': [0.1, 0.5, 0.9], SIMULATOR: [0.2, 0.6, 1.0]})
    )
    assert found.state == 'reported'
    assert [claim.wanted for claim in found.claims] == [
        'MART simulator against full, seen, paired',
        'MART simulator against full, success, paired',
    ]
    # The seeds differ by .8, the pairs by nothing.
    assert found.claims[1].found.startswith('+0.100 [+0.100, +0.100], p = 0.250')


def test_pooled_numbers_are_those_of_the_last_update_that_had_some():
    found = outcome(0.5, retained=0.25)
    assert (found.measure('retained'), found.measure('fallbacks')) == (0.25, 3.0)
    assert found.measure('seen') == 0.5


def test_gradients_of_groups_are_those_of_the_weighted_log_probability():
    policy = small_flow()
    rollouts = draw_rollouts(policy, [2, 3, 1, 2], [True, False, False, True])
    advantages = np.array([1.0, -1.0, -0.5, 0.5])
    kept = truncate_failures(advantages, rollouts.success.tolist(), [2, 3, 1, 2], [None, 1, 0, 1])
    weights = {'cut': kept.weights, 'double': 2.0 * kept.weights}
    found = group_gradients(policy, rollouts, weights, np.array([1, 0]), 2)
    samples = chunk_samples(rollouts)
    inputs, chain, _ = samples.minibatch(torch.arange(len(samples)), torch.device('cpu'))
    by_chunk = policy.log_prob(inputs, chain).sum(dim=(1, 2)) @ samples.take(kept.weights) / 2
    parts = torch.autograd.grad(by_chunk, list(policy.parameters()))
    whole = torch.cat([part.flatten() for part in parts]).numpy()
    assert whole.any()
    assert found['cut'].sum(axis=0) == pytest.approx(whole, rel=1e-4, abs=1e-6)
    assert found['double'] == pytest.approx(2.0 * found['cut'], rel=1e-4, abs=1e-6)
    with pytest.raises(ParameterError, match='weights of x'):
        group_gradients(policy, rollouts, {'x': np.ones((4, 2))}, np.array([0]), 2)


def test_a_start_that_never_succeeds_has_no_gradient_to_test(tmp_path, monkeypatch):
    monkeypatch.setattr('structrl_ros.training.experiments.gradient_test._ROUNDS', 1)
    experiment = MART_QUICK.experiments()[0]
    recipe = experiment.arms[0].start
    start = Runner(folder=tmp_path, start_episodes=4).starts([recipe])[recipe.folder]
    arms = {arm.name: arm for arm in experiment.arms if arm.trainer}
    with pytest.raises(TrainingError, match='0 of 2 groups had both outcomes'):
        gradient_test(arms, start, 1, tmp_path)


@pytest.mark.slow
def test_a_quick_run_plays_every_arm_and_goes_on_where_it_was(tmp_path):
    words = ['bench', 'mart', '--quick', '--out', str(tmp_path)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert all(name in done.output for name in ('Terminal-only', 'Structured', 'doomed'))
    cells = {path: path.stat().st_mtime_ns for path in (tmp_path / 'cells').glob('*.json')}
    again = CliRunner().invoke(app, [*words, '--only', 'terminal', '--arm', 'uniform scaling'])
    assert again.exit_code == 0, again.output
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / 'cells').glob('*.json')} == cells
