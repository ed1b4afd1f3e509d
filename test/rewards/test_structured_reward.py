"""The structured reward of StructRL: golden cases, hand-worked numbers, properties, bad input."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.rewards.structured import score_episode
from structrl_ros.rewards.structured_batch import BatchStructuredReward
from structrl_ros.rewards.structured_batch import structured_rewards
from structrl_ros.types import RewardRule

GOLDEN = json.loads((Path(__file__).parents[1] / 'golden/structured_reward.json').read_text())[
    'cases'
]


def rule_of(document):
    fields = {k: v for k, v in document.items() if k not in ('truth', 'success', 'at_reset')}
    fields['stages'] = tuple(tuple(stage) for stage in fields['stages'])
    return RewardRule(**fields)


@st.composite
def rules(draw, pacings=('demo', 'fixed', 'uniform'), gating=None, cap=True):
    sizes = draw(st.lists(st.integers(1, 3), min_size=0, max_size=3))
    count = sum(sizes)
    names = [draw(st.sampled_from(['v', 'grasp_'])) + str(index) for index in range(count)]
    stages, start = [], 0
    for size in sizes:
        stages.append(tuple(names[start : start + size]))
        start += size
    amounts = st.floats(0.5, 20.0)
    return RewardRule(
        stages=tuple(stages),
        durations={name: draw(amounts) for name in names},
        beta=draw(st.floats(0.0, 2.0)),
        gating=draw(st.booleans()) if gating is None else gating,
        pacing=draw(st.sampled_from(pacings)),
        horizon_chunks=draw(amounts),
        cap=draw(st.one_of(st.none(), st.floats(0.0, 2.0))) if cap else None,
    )


@st.composite
def episodes(draw, **options):
    rule = draw(rules(**options))
    names = [name for stage in rule.stages for name in stage]
    subset = st.sets(st.sampled_from(names)) if names else st.just(set())
    length = draw(st.integers(0, 12))
    truth = [draw(subset) for _ in range(length)]
    success = draw(st.lists(st.booleans(), min_size=length, max_size=length))
    return rule, truth, success, draw(subset)


@pytest.mark.parametrize('case', GOLDEN, ids=[case['name'] for case in GOLDEN])
def test_structured_reward_equals_golden(case):
    document = case['input']
    scored = score_episode(
        rule_of(document), document['truth'], document['success'], document['at_reset']
    )
    events = [[k, name, paid] for k, r in enumerate(scored, 1) for name, paid in r.events]
    expected = case['expected']
    assert [r.value for r in scored] == pytest.approx(expected['rewards'], abs=1e-9)
    assert [e[:2] for e in events] == [e[:2] for e in expected['events']]
    assert [e[2] for e in events] == pytest.approx([e[2] for e in expected['events']], abs=1e-9)


def test_second_subtask_of_one_chunk_pays_full_beta():
    rule = RewardRule((('a', 'b'),), {'a': 5.0, 'b': 5.0})
    reward = StructuredReward(rule).step({'a', 'b'}, False)
    assert reward.events == (('a', 0.5), ('b', 0.6))


def test_later_stage_true_only_in_the_opening_chunk_is_not_lost():
    rule = RewardRule((('a',), ('b',)), {'a': 1.0, 'b': 1.0})
    reward = StructuredReward(rule)
    assert [name for name, _ in reward.step({'a', 'b'}, False).events] == ['a', 'b']


def test_predicate_that_went_false_before_its_stage_opened_pays_nothing():
    rule = RewardRule((('a',), ('b',)), {'a': 1.0, 'b': 1.0})
    scored = score_episode(rule, [{'b'}, {'a'}, set()], [False] * 3)
    assert [r.events for r in scored] == [(), (('a', 0.6 / 3.0),), ()]


def test_grasp_held_before_its_stage_opened_completes_when_it_opens():
    rule = RewardRule((('open',), ('grasp_cup',)), pacing='fixed')
    scored = score_episode(rule, [{'grasp_cup'}, {'open'}], [False] * 2)
    assert [name for name, _ in scored[1].events] == ['open', 'grasp_cup']


def test_success_is_paid_once_and_ends_all_pay():
    rule = RewardRule((('a',), ('b',)), {'a': 1.0, 'b': 1.0})
    scored = score_episode(rule, [{'a'}, {'b'}, {'b'}], [True, True, True])
    assert [r.value for r in scored] == [2.3, 0.0, 0.0]


@given(episodes())
@settings(max_examples=150)
def test_each_subtask_pays_at_most_once_and_at_most_beta(episode):
    rule, truth, success, at_reset = episode
    events = [event for r in score_episode(rule, truth, success, at_reset) for event in r.events]
    names = [name for name, _ in events]
    assert len(names) == len(set(names))
    assert not set(names) & at_reset
    assert all(0.0 <= paid <= rule.beta for _, paid in events)


@given(episodes())
@settings(max_examples=150)
def test_intermediate_pay_never_exceeds_the_cap(episode):
    rule, truth, success, at_reset = episode
    scored = score_episode(rule, truth, success, at_reset)
    paid = sum(p for r in scored for _, p in r.events)
    limit = rule.beta * sum(len(stage) for stage in rule.stages)
    assert paid <= (limit if rule.cap is None else rule.cap) + 1e-9


@given(episodes(gating=True))
@settings(max_examples=150)
def test_gate_opens_only_after_every_prerequisite(episode):
    rule, truth, success, at_reset = episode
    done = set(at_reset)
    for reward in score_episode(rule, truth, success, at_reset):
        for name, _ in reward.events:
            stage = next(i for i, s in enumerate(rule.stages) if name in s)
            assert {n for s in rule.stages[:stage] for n in s} <= done
            done.add(name)


@given(episodes(gating=False, cap=False))
@settings(max_examples=150)
def test_gating_off_equals_an_independent_sum_over_first_completions(episode):
    rule, truth, success, at_reset = episode
    names = [name for stage in rule.stages for name in stage]
    end = success.index(True) + 1 if True in success else len(truth)
    first = {
        name: next((k for k in range(1, end + 1) if name in truth[k - 1]), None)
        for name in names
        if name not in at_reset
    }
    order = sorted((k, names.index(n), n) for n, k in first.items() if k is not None)
    expected = np.zeros(len(truth))
    previous = 0
    for k, _, name in order:
        duration = rule.durations[name]
        if rule.pacing == 'uniform':
            duration = rule.horizon_chunks / len(names)
        pace = 0.5 if rule.pacing == 'fixed' else 1.0 / (1.0 + (k - previous) / duration)
        expected[k - 1] += rule.beta * pace
        previous = k
    if True in success:
        expected[end - 1] += rule.lambda_c
    scored = score_episode(rule, truth, success, at_reset)
    assert [r.value for r in scored] == pytest.approx(list(expected), abs=1e-12)


@given(episodes(), st.randoms())
@settings(max_examples=100)
def test_order_of_names_inside_a_truth_set_does_not_matter(episode, random):
    rule, truth, success, at_reset = episode
    shuffled = [random.sample(sorted(names), len(names)) for names in truth]
    assert score_episode(rule, truth, success, at_reset) == score_episode(
        rule, shuffled, success, at_reset
    )


@given(st.data())
@settings(max_examples=80)
def test_streaming_equals_batch_to_the_last_bit(data):
    length, batch = data.draw(st.integers(0, 8)), data.draw(st.integers(1, 4))
    drawn = [data.draw(rules()) for _ in range(batch)]
    size = max(sum(map(len, rule.stages)) for rule in drawn)
    random = np.random.default_rng(data.draw(st.integers(0, 2**31)))
    truth = random.random((length, batch, size)) < 0.3
    success = random.random((length, batch)) < 0.1
    at_reset = random.random((batch, size)) < 0.1
    rewards, paid = structured_rewards(drawn, truth, success, at_reset)
    for b, rule in enumerate(drawn):
        names = [name for stage in rule.stages for name in stage]
        truths = [{n for n, t in zip(names, row[b], strict=False) if t} for row in truth]
        reset = {n for n, t in zip(names, at_reset[b], strict=False) if t}
        scored = score_episode(rule, truths, [bool(s) for s in success[:, b]], reset)
        assert [r.value for r in scored] == list(rewards[:, b])
        for k, reward in enumerate(scored):
            row = {names[i]: p for i, p in enumerate(paid[k, b]) if p}
            assert row == {name: p for name, p in reward.events if p}


def test_batch_reset_leaks_nothing_of_the_episode_before():
    rule = RewardRule(
        (('grasp_cup', 'b'), ('c',)), {'grasp_cup': 2.0, 'b': 3.0, 'c': 4.0}, cap=0.9
    )
    batch = BatchStructuredReward([rule, rule])
    everything = np.ones((2, 3), dtype=bool)
    first, _ = batch.step(everything, np.array([True, False]))
    batch.reset(np.array([True, False]))
    again, paid = batch.step(everything, np.array([True, False]))
    assert again[0] == first[0]
    assert not paid[1].any()
    assert batch.completed.all()


@pytest.mark.parametrize(
    ('change', 'field'),
    [
        ({'stages': (('a', 'a'),)}, 'stages'),
        ({'stages': (('a',), ('a',))}, 'stages'),
        ({'durations': {'a': -4.0}}, r'durations\.a'),
        ({'durations': {'a': float('inf')}}, r'durations\.a'),
        ({'durations': {}}, r'durations\.a'),
        ({'beta': float('nan')}, 'beta'),
        ({'cap': -1.0}, 'cap'),
        ({'pacing': 'quick'}, 'pacing'),
        ({'pacing': 'uniform'}, 'horizon_chunks'),
        ({'horizon_chunks': 0.0}, 'horizon_chunks'),
    ],
)
def test_wrong_rule_names_the_field(change, field):
    fields = {'stages': (('a',),), 'durations': {'a': 1.0}} | change
    with pytest.raises(ParameterError, match=f'^{field}: '):
        StructuredReward(RewardRule(**fields))


def test_lengths_that_differ_are_refused():
    with pytest.raises(ParameterError, match=r'^success: '):
        score_episode(RewardRule((('a',),), {'a': 1.0}), [set()], [])
    with pytest.raises(ParameterError, match=r'^truth: shape'):
        BatchStructuredReward([RewardRule((('a',),), {'a': 1.0})]).step(
            np.zeros((2, 1), dtype=bool), np.zeros(1, dtype=bool)
        )
