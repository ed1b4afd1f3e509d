"""Experiments: cells are reproducible, shared and kept; verdicts follow from hand-made numbers."""

import dataclasses
import json
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip('torch')

from drawn_rollouts import draw_rollouts
from drawn_rollouts import small_flow

from structrl_ros.errors import ParameterError
from structrl_ros.training.experiments.catalogue import choose
from structrl_ros.training.experiments.catalogue import twin_experiments
from structrl_ros.training.experiments.document import results_document
from structrl_ros.training.experiments.markdown import markdown_tables
from structrl_ros.training.experiments.outcomes import Outcome
from structrl_ros.training.experiments.outcomes import Outcomes
from structrl_ros.training.experiments.outcomes import needed_cells
from structrl_ros.training.experiments.outcomes import outcome_of
from structrl_ros.training.experiments.report import write_report
from structrl_ros.training.experiments.runner import CELLS
from structrl_ros.training.experiments.runner import Runner
from structrl_ros.training.experiments.twin_bench import FULL
from structrl_ros.training.experiments.twin_bench import QUICK
from structrl_ros.training.experiments.verdict import Verdict
from structrl_ros.training.reward_source import PaidRollouts

pytestmark = pytest.mark.torch


def experiment(name, bench=FULL):
    return choose(twin_experiments(bench), [name])[0]


def outcome(success, premature=0.0):
    return Outcome(
        episodes=1000,
        successes=round(1000 * success),
        subtasks={'open(it)': 900},
        premature=round(1000 * premature),
        steps=200.0,
        idle=3.0,
        curve={'success': [0.0, success]},
    )


def verdict(name, values, **measures):
    """Judge an experiment on success values by arm, the others of `measures` by arm as well."""
    chosen = experiment(name)
    found = {}
    for arm in chosen.arms:
        cells = [cell for cell in chosen.cells() if cell.arm is arm]
        own = values.get(arm.name, [0.0] * len(cells))
        others = measures.get('premature', {}).get(arm.name, [0.0] * len(cells))
        for cell, success, premature in zip(cells, own, others, strict=True):
            found[cell.key] = outcome(success, premature)
    return chosen.judge(Outcomes(chosen, found))


EIGHT_HIGH = [0.21, 0.3, 0.4, 0.35, 0.25, 0.5, 0.3, 0.28]


def test_a_hard_start_is_shown_where_no_seed_overlaps():
    assert (
        verdict('hard_start', {'structured': EIGHT_HIGH, 'terminal': [0.0] * 8}).state == 'shown'
    )
    overlapping = {'structured': [*EIGHT_HIGH[:7], 0.01], 'terminal': [0.0] * 7 + [0.02]}
    found = verdict('hard_start', overlapping)
    assert found.state == 'not shown'
    assert [c.holds for c in found.claims] == [None, True, True, False, None]


def test_grpo_needs_both_the_difference_and_its_p():
    low = [v - 0.06 for v in EIGHT_HIGH]
    scattered = {'GRPO structured': EIGHT_HIGH, 'GRPO terminal': low}
    assert verdict('grpo', scattered).state == 'not shown'
    apart = {'GRPO structured': [0.6] * 4 + [0.62] * 4, 'GRPO terminal': [0.5] * 8}
    assert verdict('grpo', apart).state == 'shown'


def test_gating_is_about_premature_closing_and_must_not_cost_success():
    premature = {'gated': [0.3] * 8, 'ungated': [0.4] * 8}
    even = {'gated': [0.2] * 8, 'ungated': [0.2] * 8}
    assert verdict('gating', even, premature=premature).state == 'shown'
    worse = {'gated': [0.1] * 8, 'ungated': [0.2] * 8}
    assert verdict('gating', worse, premature=premature).state == 'not shown'


def test_few_seeds_are_not_judged():
    few = dataclasses.replace(experiment('hard_start'), seeds=3)
    found = {
        cell.key: outcome(0.5 if cell.arm.name == 'structured' else 0.0) for cell in few.cells()
    }
    judged = few.judge(Outcomes(few, found))
    assert judged.state == 'not judged'
    assert all(claim.holds is None for claim in judged.claims)


def test_claims_rest_on_eight_seeds_an_arm_and_ablations_on_three():
    seeds = {e.name: e.seeds for e in twin_experiments(FULL)}
    assert [seeds[n] for n in ('hard_start', 'gating', 'grpo')] == [8, 8, 8]
    assert min(seeds.values()) >= 3


def test_experiments_share_their_cells():
    reported = [e for e in twin_experiments(FULL) if e.seeds == FULL.report_seeds]
    named = sum(len(e.cells()) for e in reported)
    assert len(needed_cells(reported)) < 0.7 * named
    full = next(c for c in experiment('components').cells() if c.arm.name == 'full')
    beta = next(c for c in experiment('beta').cells() if c.arm.name == 'beta 0.6')
    assert full.key == beta.key


def test_a_seed_and_a_setting_make_another_cell():
    cells = experiment('components').cells()
    assert len({cell.key for cell in cells}) == len(cells)


def test_closing_is_premature_until_all_is_in():
    rollouts = draw_rollouts(small_flow(), [3, 3, 3, 2], [True, False, False, False])
    names = ('in(a)', 'in(b)', 'close(it)')
    truth = np.zeros((4, 3, 3), dtype=bool)
    truth[0, :, :] = [[1, 0, 0], [0, 1, 0], [1, 1, 1]]  # in order
    truth[1, 1, 2] = True  # closed and nothing in it
    truth[2, :, :] = [[1, 0, 0], [0, 0, 1], [0, 1, 0]]  # closed before b
    truth[3, 2, 2] = True  # beyond the end of the episode
    infos = tuple(dataclasses.replace(task, predicate_names=names) for task in rollouts.tasks)
    rollouts = dataclasses.replace(rollouts, truth=truth, tasks=infos)
    rewards = np.zeros((4, 3))
    rewards[0, 0] = 1.0
    paid = PaidRollouts(rewards, np.zeros((4, 3, 0)), ((),) * 4, np.zeros((4, 3)))
    found = outcome_of(rollouts, paid, (('in(a)', 'in(b)'), ('close(it)',)))
    assert (found.premature, found.successes, found.episodes) == (2, 1, 4)
    assert found.subtasks == {'in(a)': 2, 'in(b)': 2, 'close(it)': 3}
    assert found.idle == (2 + 3 + 3 + 2) / 4


def test_an_unknown_experiment_is_refused_with_those_that_are_known():
    with pytest.raises(ParameterError, match=r"unknown experiment 'x'; known: hard_start, "):
        choose(twin_experiments(QUICK), ['x'])


def nothing_is_asked(outcomes):
    return Verdict('reported', ())


@pytest.fixture(scope='module')
def tiny(tmp_path_factory):
    """An experiment with PPO and GRPO, run in one process; the densest reward pays at once."""
    arms = [
        QUICK.arm(trainer, QUICK.hard, trainer=trainer, reward='density_52')
        for trainer in ('ppo', 'grpo')
    ]
    arms = (*QUICK.start_arms(0.0), *arms)
    chosen = [dataclasses.replace(experiment('beta', QUICK), arms=arms, judge=nothing_is_asked)]
    folder = tmp_path_factory.mktemp('tiny')
    told = []
    runner = Runner(
        folder=folder, start_episodes=4, progress=lambda title, work: told.append((title, work))
    )
    return chosen, runner, runner.run(chosen), told


def test_the_same_cells_come_to_the_same_numbers(tiny, tmp_path):
    chosen, _, found, told = tiny
    again = Runner(folder=tmp_path, start_episodes=4).run(chosen)
    assert {k: o.numbers() for k, o in again.items()} == {k: o.numbers() for k, o in found.items()}
    moved = [any(k or 0.0 for k in o.curve['kl']) for o in found.values() if o.curve]
    assert moved == [True, True]
    assert len(told) == len(found) + 1


def test_what_was_run_is_not_run_again(tiny):
    chosen, runner, found, _ = tiny
    key = chosen[0].cells()[-1].key
    path = runner.folder / CELLS / f'{key}.json'
    document = json.loads(path.read_text())
    document['outcome']['successes'] = 1
    path.write_text(json.dumps(document))
    assert runner.run(chosen)[key].successes == 1
    path.unlink()
    assert runner.run(chosen)[key].numbers() == found[key].numbers()


@pytest.mark.slow
def test_numbers_do_not_depend_on_the_processes(tiny, tmp_path):
    chosen, _, found, _ = tiny
    apart = Runner(folder=tmp_path, start_episodes=4, processes=2).run(chosen)
    assert {k: o.numbers() for k, o in apart.items()} == {k: o.numbers() for k, o in found.items()}


def test_the_report_stands_alone_and_holds_every_seed(tiny, tmp_path):
    chosen, runner, found, _ = tiny
    starts = list(runner.starts([arm.start for arm in chosen[0].arms]).values())
    document = results_document(chosen, found, starts, command='structrl bench learning --quick')
    document['experiments'][0]['arms'][2]['measures']['success']['values'] = [0.123]
    html = write_report(tmp_path, document).read_text()
    assert 'http' not in html.replace('http-equiv', '')
    assert '0.123' in html
    assert 'reported' in html
    tables = markdown_tables(document)
    assert '| 0.12 |' in tables
    svg = ElementTree.fromstring((tmp_path / 'overview.svg').read_text())
    dots = svg.findall('.//{http://www.w3.org/2000/svg}circle')
    assert len(dots) == sum(len(e.cells()) for e in chosen)
