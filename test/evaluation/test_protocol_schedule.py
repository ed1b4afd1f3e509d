"""Schedules, stopping rules, and comparisons of results."""

import dataclasses
import itertools
import random

import numpy as np
import pytest
from episode_records import episode_record
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.policy_comparison import compare_results
from structrl_ros.evaluation.protocol import PlacementCard
from structrl_ros.evaluation.protocol import Protocol
from structrl_ros.evaluation.protocol import ProtocolTask
from structrl_ros.evaluation.protocol import StopRule
from structrl_ros.evaluation.protocol import schedule
from structrl_ros.evaluation.protocol import starts_of
from structrl_ros.evaluation.results import EvaluatedPolicy
from structrl_ros.evaluation.results import EvaluationResults
from structrl_ros.evaluation.sequential import SequentialTest
from structrl_ros.evaluation.sequential import detectable_difference
from structrl_ros.evaluation.sequential import required_episodes
from structrl_ros.evaluation.stopping import stand_of

TASKS = (ProtocolTask(name='one'), ProtocolTask(name='two'))
BASE = Protocol(name='p', body='twin', tasks=TASKS, episodes=3, seeds=(10,))


def record(trial, success):
    start = trial.start
    return episode_record(
        success,
        number=trial.number,
        code=trial.code,
        task=start.task,
        seed=start.seed,
        initial_state=start.initial_state,
        repetition=start.repetition,
    )


def results(protocol, codes, outcome):
    trials = schedule(protocol, codes)
    return EvaluationResults(
        protocol=protocol.name,
        protocol_hash=protocol.fingerprint,
        body=protocol.body,
        success_rule=protocol.success,
        planned=len(trials),
        policies=tuple(EvaluatedPolicy(code=code, name=code) for code in codes),
        episodes=tuple(record(t, outcome(t)) for t in trials),
    )


def test_one_seed_counts_up_and_several_are_taken_in_turn():
    assert [s.key for s in starts_of(BASE)][:3] == [('one', 10 + k, 0, 0) for k in range(3)]
    turns = dataclasses.replace(BASE, seeds=(4, 5), initial_states=(0, 7), episodes=5)
    keys = [s.key for s in starts_of(turns)][:5]
    expected = [(4, 0, 0), (5, 7, 0), (4, 0, 1), (5, 7, 1), (4, 0, 2)]
    assert keys == [('one', *rest) for rest in expected]


def test_cards_are_the_initial_states():
    cards = (PlacementCard(text='left'), PlacementCard(text='right'))
    task = ProtocolTask(name='one', instruction='do it', cards=cards)
    starts = starts_of(dataclasses.replace(BASE, tasks=(task,)))
    assert [(s.initial_state, s.card.text) for s in starts] == [
        (0, 'left'),
        (1, 'right'),
        (0, 'left'),
    ]
    assert {s.instruction for s in starts} == {'do it'}


@pytest.mark.parametrize('order', ['fixed', 'interleaved', 'shuffled'])
def test_every_policy_meets_every_start_once(order):
    trials = schedule(dataclasses.replace(BASE, order=order), ['A', 'B'])
    assert [t.number for t in trials] == list(range(12))
    assert {(t.code, t.start.key) for t in trials} == {
        (code, s.key) for code in 'AB' for s in starts_of(BASE)
    }


def test_orders_are_what_they_are_called():
    fixed, interleaved = (
        [t.code for t in schedule(dataclasses.replace(BASE, order=o), ['A', 'B'])]
        for o in ('fixed', 'interleaved')
    )
    assert fixed == ['A'] * 6 + ['B'] * 6
    assert ''.join(interleaved) == 'ABBA' * 3
    shuffled = [
        schedule(dataclasses.replace(BASE, order='shuffled', order_seed=s), ['A', 'B'])
        for s in (1, 1, 2)
    ]
    assert shuffled[0] == shuffled[1] != shuffled[2]


def test_schedule_without_policies_or_with_one_twice_is_refused():
    for codes in ([], ['A', 'A']):
        with pytest.raises(ParameterError, match='each once'):
            schedule(BASE, codes)


def test_fingerprint_depends_on_the_episodes_and_not_on_who_plays_them():
    same = [{'name': 'q'}, {'order': 'shuffled'}, {'blinding': True}]
    other = [{'episodes': 4}, {'seeds': (11,)}, {'success': 'subtasks'}, {'time_limit_s': 5.0}]
    other += [{'body': 'tabletop'}, {'body_options': {'x': 1}}, {'tasks': TASKS[:1]}]
    for change in same:
        assert dataclasses.replace(BASE, **change).fingerprint == BASE.fingerprint
    prints = [dataclasses.replace(BASE, **change).fingerprint for change in other]
    assert len({BASE.fingerprint, *prints}) == len(other) + 1


def test_without_a_rule_everything_counts_and_all_is_played():
    trials = schedule(BASE, ['A'])
    stand = stand_of(trials, {4: record(trials[4], True)}, StopRule())
    assert [r.number for r in stand.counted] == [4]
    assert [t.number for t in stand.open] == [0, 1, 2, 3, 5]


RATE = StopRule(rule='rate', low=0.3, high=0.9, alpha=0.1)
LONG = dataclasses.replace(BASE, tasks=TASKS[:1], episodes=30)


def test_rate_rule_stops_where_walds_test_does():
    trials = schedule(LONG, ['A'])
    test = SequentialTest(low=0.3, high=0.9, error=0.1)
    n = next(n for n in itertools.count(1) if test.decide(n, n) == 'higher')
    records = {t.number: record(t, True) for t in trials[: n + 4]}
    stand = stand_of(trials, records, RATE)
    assert [r.number for r in stand.counted] == list(range(n))
    assert not stand.open
    assert stand.decision == f'A: at least 0.9 ({n} of {n})'


def test_paired_rule_names_the_winner_and_counts_whole_pairs():
    rule = StopRule(rule='paired', high=0.9, alpha=0.1)
    trials = schedule(dataclasses.replace(LONG, order='interleaved'), ['A', 'B'])
    records = {t.number: record(t, t.code == 'B') for t in trials}
    stand = stand_of(trials, records, rule)
    assert stand.decision.startswith('B wins at least 0.9')
    assert not stand.open
    codes = [r.code for r in stand.counted]
    assert codes.count('A') == codes.count('B') < 30


def test_paired_rule_goes_on_where_both_always_do_the_same():
    rule = StopRule(rule='paired', high=0.9)
    trials = schedule(LONG, ['A', 'B'])
    stand = stand_of(trials, {t.number: record(t, True) for t in trials}, rule)
    assert (stand.decision, len(stand.counted)) == ('', 60)


def test_paired_rule_needs_two_policies():
    with pytest.raises(ParameterError, match='needs two policies, got 1'):
        stand_of(schedule(LONG, ['A']), {}, StopRule(rule='paired', high=0.9))


@settings(max_examples=30)
@given(strategies.randoms(use_true_random=False), strategies.sampled_from(['rate', 'paired']))
def test_decision_does_not_depend_on_the_order_in_which_episodes_end(dice: random.Random, kind):
    rule = dataclasses.replace(RATE, rule=kind)
    trials = schedule(dataclasses.replace(LONG, order='interleaved'), ['A', 'B'])
    truth = {t.number: record(t, dice.random() < (0.9 if t.code == 'A' else 0.5)) for t in trials}
    whole = stand_of(trials, truth, rule)
    played, flying = {}, []
    while True:
        open_ = [t for t in stand_of(trials, played, rule).open if t.number not in flying]
        if open_ and (len(flying) < 3 or not flying):
            flying.append(open_[0].number)
        elif flying:
            number = flying.pop(dice.randrange(len(flying)))
            played[number] = truth[number]
        else:
            break
    stand = stand_of(trials, played, rule)
    assert (stand.counted, stand.decision) == (whole.counted, whole.decision)


def test_rate_rule_errs_no_more_often_than_it_says():
    test = SequentialTest(low=0.4, high=0.7, error=0.1)
    random = np.random.default_rng(0)
    wrong = 0
    for _ in range(500):
        successes = n = 0
        while (said := test.decide(successes, n)) == 'go on':
            successes, n = successes + (random.random() < 0.4), n + 1
        wrong += said == 'higher'
    assert wrong / 500 < 0.13


@pytest.mark.parametrize('n', [20, 93, 400])
def test_detectable_difference_is_the_inverse_of_required_n(n):
    least = detectable_difference(n)
    assert required_episodes(0.5, 0.5 + least) <= n < required_episodes(0.5, 0.5 + least - 0.001)


def test_few_episodes_show_nothing():
    assert detectable_difference(0) is None
    assert detectable_difference(3) is None


def test_comparison_is_mcnemars_over_all_and_by_task():
    from scipy.stats import binomtest

    a = results(BASE, ['before'], lambda t: False)
    b = results(BASE, ['after'], lambda t: t.start.task == 'one')
    found = compare_results(a, b)
    assert (found.label_a, found.label_b) == ('before', 'after')
    assert (found.total.only_a, found.total.only_b) == (0, 3)
    assert found.total.p_value == pytest.approx(binomtest(0, 3).pvalue)
    assert found.tasks['one'].difference == 1.0
    assert found.tasks['two'].difference == 0.0
    assert found.sentence.startswith('no difference is shown: +0.500')


def test_two_policies_of_one_evaluation_are_compared():
    protocol = dataclasses.replace(BASE, episodes=10)
    both = results(protocol, ['A', 'B'], lambda t: t.code == 'B')
    assert compare_results(both).sentence.startswith('B succeeds more often: +1.000')


@pytest.mark.parametrize(
    ('change', 'line'),
    [
        ({'seeds': (11,)}, 'only equal protocols are compared'),
        ({'success': 'subtasks'}, 'only equal protocols are compared'),
    ],
)
def test_unequal_protocols_are_not_compared(change, line):
    a = results(BASE, ['a'], lambda t: True)
    b = results(dataclasses.replace(BASE, **change), ['b'], lambda t: True)
    with pytest.raises(ParameterError, match=line):
        compare_results(a, b)


def test_unequal_n_is_not_compared():
    a = results(BASE, ['a'], lambda t: True)
    cut = dataclasses.replace(a, episodes=a.episodes[:-1])
    with pytest.raises(ParameterError, match='lacks 1 episodes'):
        compare_results(a, cut)
    empty = dataclasses.replace(a, episodes=())
    with pytest.raises(ParameterError, match='both evaluations are empty'):
        compare_results(empty, empty)


def test_one_evaluation_of_one_policy_is_no_comparison():
    with pytest.raises(ParameterError, match='1 policies in one evaluation'):
        compare_results(results(BASE, ['a'], lambda t: True))
