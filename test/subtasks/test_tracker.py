"""The tracker: live rewards are those of `structrl score`, in any order of topics."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from structrl_ros.cli.score import score_document
from structrl_ros.errors import ParameterError
from structrl_ros.rewards.ledger import audit
from structrl_ros.rewards.structured import StructuredReward
from structrl_ros.subtasks.tracker import Tracker
from structrl_ros.subtasks.tracker import TrackerSettings
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Reward
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

SECOND = 1_000_000_000
THINGS = ('soup', 'milk', 'butter', 'ketchup')
NAMES = tuple(f'{kind}({thing}_1{rest})' for thing in THINGS
              for kind, rest in (('grasp', ''), ('in', ', basket_1_contain_region')))  # fmt: skip
DURATIONS = {name: 2.0 + index for index, name in enumerate(NAMES)}


def place(thing, stage):
    return Subtask(f'place({thing}, basket)', '', 'place', (thing, 'basket'), stage)


def grasp(thing, stage):
    return Subtask(f'grasp({thing})', '', 'grasp', (thing,), stage)


def inside(thing):
    return f'in({thing}_1, basket_1_contain_region)'


def start(number=1, stamp=SECOND, **fields):
    fields = {'ended': False} | fields
    return Episode(
        stamp_ns=stamp, episode=number, body='libero', task='t', instruction='go', seed=0,
        initial_state=0, **fields,
    )  # fmt: skip


def plan(*subtasks, revision=1, stamp=SECOND):
    return Plan(stamp, revision, 'go', tuple(subtasks))


def predicates(chunk, truth=(), stamp=None, episode=1, names=NAMES):
    stamp = (chunk + 1) * SECOND if stamp is None else stamp
    values = tuple(name in truth for name in names)
    return Predicates(stamp, episode, chunk, chunk * 10, names, values, success=False)


def done(chunk, stamp=None, episode=1, **flags):
    stamp = (chunk + 1) * SECOND if stamp is None else stamp
    flags = {'terminated': False, 'truncated': False, 'success': False} | flags
    return ChunkDone(stamp, episode, chunk, 10, executed=np.zeros((10, 7), np.float32), **flags)


def verdict(index, subtask, stamp, revision=1, is_done=True, stop=False):
    return Verdict(stamp, revision, index, subtask.id, is_done, 1.0, 0.01, 'predicates', stop)


def feed(tracker, *messages):
    return [output for message in messages for output in tracker.consume(message)]


def make(**options):
    return Tracker(TrackerSettings(**{'durations': DURATIONS} | options), StructuredReward)


def rewards_of(outputs):
    return [output for output in outputs if isinstance(output, Reward)]


def last_status(outputs):
    return [output for output in outputs if isinstance(output, SubtaskStatus)][-1]


def scored_values(tracker):
    document = json.loads(json.dumps(tracker.trace()))
    result, is_fine = score_document('structured_reward', document)
    assert is_fine, result
    return [value for case in result['cases'] for value in case['output']['rewards']]


def test_success_that_only_the_predicates_tell_is_paid_once():
    """A real arm does not know of success; what looks at the scene beside it does."""
    told = replace(predicates(2), success=True)
    outputs = feed(
        make(), start(), plan(), predicates(0), done(1), predicates(1), done(2), told,
        done(3), replace(predicates(3), success=True),
    )  # fmt: skip
    paid = [[term for term in reward.terms if term[1]] for reward in rewards_of(outputs)]
    assert paid == [[], [('success', 2.0)], []]


# ---------------------------------------------------------------- random runs, any order


@st.composite
def runs(draw):
    """Return per-topic streams of a few episodes, with what must come before what."""
    random = np.random.default_rng(draw(st.integers(0, 2**31)))
    topics = {name: [] for name in ('episode', 'plan', 'verdict', 'predicates', 'done')}
    now = SECOND
    for number in range(1, draw(st.integers(1, 3)) + 1):
        now += SECOND
        topics['episode'].append(start(number, now))
        topics['predicates'].append(
            predicates(0, random.choice(NAMES, 1) if random.random() < 0.2 else (), now, number)
        )
        pointer = None
        length = int(random.integers(1, 12))
        for chunk in range(1, length + 1):
            if pointer is None or random.random() < 0.08:
                pointer = [fresh_plan(random, now), 0]
                topics['plan'].append(pointer[0])
            now += SECOND
            truth = random.choice(NAMES, int(random.integers(0, 3)))
            topics['predicates'].append(predicates(chunk, truth, now, number))
            is_last = chunk == length
            success = bool(random.random() < 0.1)
            topics['done'].append(
                done(chunk, now, number, success=success, terminated=is_last and success,
                     truncated=is_last and not success)
            )  # fmt: skip
            topics['verdict'].extend(ticks(random, pointer, now))
            if pointer[1] is None:
                revision = pointer[0].revision + 1
                pointer = [replace(fresh_plan(random, now), revision=revision), 0]
                topics['plan'].append(pointer[0])
        topics['episode'].append(start(number, now, ended=True))
    return topics


def fresh_plan(random, now):
    things = random.permutation(THINGS)[: int(random.integers(1, 4))]
    subtasks, stage = [], 0
    for thing in things:
        subtasks += [grasp(thing, stage), place(thing, stage + 1)]
        stage += int(random.integers(0, 3))
    return plan(*subtasks, stamp=now)


def ticks(random, pointer, now):
    """Return the verdicts of a chunk, the last one stamped at its end; may stop the plan."""
    verdicts = []
    for stamp in (now - SECOND // 2, now):
        current, index = pointer
        if index is None or index >= len(current.subtasks):
            break
        is_done, stop = bool(random.random() < 0.3), bool(random.random() < 0.05)
        subtask = current.subtasks[index]
        verdicts.append(verdict(index, subtask, stamp, current.revision, is_done, stop))
        pointer[1] = index + 1 if is_done else index
        if stop:
            pointer[1] = None
    return verdicts


def canonical(topics):
    """Return all messages by stamp, as they come live."""
    order = ('episode', 'predicates', 'verdict', 'done', 'plan')
    tagged = [(m.stamp_ns, order.index(n), m) for n, stream in topics.items() for m in stream]
    ends = [(s, 9, m) if isinstance(m, Episode) and m.ended else (s, o, m) for s, o, m in tagged]
    return [m for _, _, m in sorted(ends, key=lambda item: item[:2])]


def shuffled(topics, random):
    """Return an order that keeps each topic's own, and has every plan before later chunks.

    The body runs no chunk before the policy has a plan; nothing else is promised.
    """
    queues = {name: list(stream) for name, stream in topics.items() if stream}
    messages = []
    while queues:
        name = random.choice(sorted(queues))
        head = queues[name][0]
        plans = queues.get('plan', [])
        if name in ('predicates', 'done') and plans and plans[0].stamp_ns < head.stamp_ns:
            name = 'plan'
        messages.append(queues[name].pop(0))
        if random.random() < 0.1 and not isinstance(messages[-1], Episode):
            messages.append(messages[-1])
        if not queues[name]:
            del queues[name]
    return messages


SOURCES = st.sampled_from(['predicates', 'verdicts'])


@given(runs(), st.booleans(), st.booleans(), st.sampled_from(['auto', 'uniform', 'fixed']))
@settings(max_examples=120)
def test_live_rewards_equal_score_to_the_last_bit(topics, lockstep, gating, pacing):
    tracker = make(lockstep=lockstep, gating=gating, pacing=pacing, cap=1.3)
    pages = rewards_of(feed(tracker, *canonical(topics)))
    assert len(pages) == len(topics['done'])
    assert [page.value for page in pages] == scored_values(tracker)
    assert audit(pages) == []


@given(runs(), st.randoms(), SOURCES)
@settings(max_examples=200)
def test_order_between_topics_and_duplicates_do_not_matter_in_lockstep(topics, random, source):
    straight = make(lockstep=True, truth_source=source)
    mixed = make(lockstep=True, truth_source=source)
    expected = feed(straight, *canonical(topics))
    got = feed(mixed, *shuffled(topics, random))
    key = lambda page: (page.episode, page.chunk)  # noqa: E731
    assert sorted(rewards_of(got), key=key) == rewards_of(expected)
    assert [p.value for p in rewards_of(expected)] == scored_values(straight)
    assert last_status(got) == last_status(expected)


@given(runs(), SOURCES)
@settings(max_examples=60)
def test_second_episode_after_another_equals_it_alone(topics, source):
    whole = rewards_of(feed(make(truth_source=source), *canonical(topics)))
    last = max(message.episode for message in topics['done'])
    first_ns = next(e.stamp_ns for e in topics['episode'] if e.episode == last)
    alone = [m for m in canonical(topics) if m.stamp_ns >= first_ns]
    pages = rewards_of(feed(make(truth_source=source), *alone))
    assert pages == [page for page in whole if page.episode == last]


# ---------------------------------------------------------------- by hand


def test_terms_are_named_by_predicate_and_success_is_paid_once():
    tracker = make(durations={inside('soup'): 2.0, 'grasp(soup_1)': 1.0})
    outputs = feed(
        tracker,
        start(),
        predicates(0),
        plan(grasp('soup', 0), place('soup', 1)),
        predicates(1, ['grasp(soup_1)']),
        done(1),
        predicates(2, [inside('soup')]),
        done(2, success=True, terminated=True),
    )
    first, second = rewards_of(outputs)
    assert first.terms == (('grasp(soup_1)', 0.3),)
    assert second.terms == ((inside('soup'), 0.6 / 1.5), ('success', 2.0))
    assert second.value == 0.6 / 1.5 + 2.0
    assert second.episode_return == 0.3 + second.value
    assert second.terminated
    assert last_status(outputs).current == ''
    assert last_status(outputs).completed == ('grasp(soup)', 'place(soup, basket)')


def test_pointer_moves_by_verdict_and_status_lists_open_and_blocked():
    first, second, third = grasp('soup', 0), place('soup', 1), place('milk', 1)
    tracker = make()
    outputs = feed(tracker, start(), predicates(0), plan(first, second, third))
    assert last_status(outputs).current == first.id
    assert last_status(outputs).open == (first.id,)
    assert last_status(outputs).blocked == (second.id, third.id)
    outputs = feed(tracker, verdict(0, first, SECOND + 1))
    assert last_status(outputs).current == second.id
    outputs = feed(tracker, verdict(0, first, SECOND + 1))
    assert outputs == []
    outputs = feed(tracker, predicates(1, ['grasp(soup_1)']), done(1))
    assert last_status(outputs).completed == (first.id,)
    assert last_status(outputs).open == (second.id, third.id)
    assert last_status(outputs).chunk == 1


def test_pointer_catches_up_with_a_planner_that_is_further_on():
    first, second, third = grasp('soup', 0), place('soup', 1), place('milk', 1)
    tracker = make()
    feed(tracker, start(), predicates(0), plan(first, second, third))
    outputs = feed(tracker, verdict(1, second, SECOND + 1, is_done=False))
    assert last_status(outputs).current == second.id
    assert feed(tracker, verdict(0, first, SECOND + 1, is_done=False)) == []


def test_lockstep_waits_for_predicates_chunk_done_and_the_verdict_of_the_chunk():
    subtask = grasp('soup', 0)
    tracker = make(lockstep=True)
    feed(tracker, start(), predicates(0), plan(subtask))
    assert feed(tracker, done(1)) == []
    assert tracker.waiting_for() == 'chunk 1 waits for predicates'
    assert feed(tracker, predicates(1)) == []
    assert tracker.waiting_for() == 'chunk 1 waits for verdict'
    assert feed(tracker, verdict(0, subtask, 2 * SECOND - 1, is_done=False)) == []
    outputs = feed(tracker, verdict(0, subtask, 2 * SECOND))
    assert [type(output) for output in outputs] == [Reward, SubtaskStatus]
    assert last_status(outputs).current == ''
    assert tracker.waiting_for() == ''


@pytest.mark.parametrize('plans', [[], [plan()]], ids=['none', 'empty'])
def test_without_anything_to_do_no_verdict_is_waited_for(plans):
    tracker = make(lockstep=True)
    outputs = feed(tracker, start(), predicates(0), *plans, predicates(1), done(1, success=True))
    assert rewards_of(outputs)[0].terms == (('success', 2.0),)
    assert last_status(outputs).current == ''


def test_task_that_is_called_off_leaves_no_chunk_waiting():
    tracker = make(lockstep=True)
    feed(tracker, start(), predicates(0), plan(grasp('soup', 0)), predicates(1), done(1))
    assert tracker.waiting_for() == 'chunk 1 waits for verdict'
    outputs = feed(tracker, plan(revision=2, stamp=2 * SECOND))
    assert [page.chunk for page in rewards_of(outputs)] == [1]
    assert last_status(outputs).current == ''


def test_stop_empties_the_pointer_until_the_next_revision():
    first, second = grasp('soup', 0), place('soup', 1)
    tracker = make()
    feed(tracker, start(), predicates(0), plan(first, second))
    outputs = feed(tracker, verdict(0, first, SECOND + 5, is_done=False, stop=True))
    assert last_status(outputs).current == ''
    outputs = feed(tracker, plan(first, second, revision=2, stamp=SECOND + 5))
    assert last_status(outputs).current == first.id
    assert last_status(outputs).revision == 2


def test_replan_changes_what_is_pursued_and_never_what_is_paid():
    tracker = make()
    feed(tracker, start(), predicates(0), plan(grasp('soup', 0)))
    outputs = feed(tracker, plan(grasp('milk', 0), revision=2, stamp=SECOND + 5))
    assert last_status(outputs).current == 'grasp(milk)'
    outputs = feed(tracker, predicates(1, ['grasp(soup_1)', 'grasp(milk_1)']), done(1))
    assert [name for name, _ in rewards_of(outputs)[0].terms] == ['grasp(soup_1)']


def test_new_task_in_the_same_episode_counts_its_chunks_from_its_start():
    tracker = make(durations={'grasp(soup_1)': 4.0, 'grasp(milk_1)': 4.0})
    outputs = feed(tracker, start(), predicates(0), plan(grasp('soup', 0)))
    for chunk in (1, 2, 3):
        outputs += feed(tracker, predicates(chunk, ['grasp(soup_1)']), done(chunk))
    second = plan(grasp('soup', 0), grasp('milk', 0), stamp=4 * SECOND)
    outputs += feed(tracker, second, predicates(4, ['grasp(milk_1)']), done(4))
    values = [page.value for page in rewards_of(outputs)]
    assert values == [0.6 / 1.25, 0.0, 0.0, 0.6 / 1.25]
    assert values == scored_values(tracker)
    assert [case['name'] for case in tracker.trace()['cases']] == [
        'episode 1 task 1',
        'episode 1 task 2',
    ]
    assert tracker.trace()['cases'][1]['input']['at_reset'] == ['grasp(soup_1)']


def test_subtask_without_predicate_is_filtered_and_reported():
    wipe = Subtask('activity(wipe)', '', 'activity', ('wipe',), 0)
    tracker = make()
    outputs = feed(tracker, start(), predicates(0), plan(wipe, grasp('soup', 1)))
    outputs = feed(tracker, predicates(1, ['grasp(soup_1)']), done(1))
    assert rewards_of(outputs)[0].value > 0.0
    assert tracker.take_reports() == [
        'episode 1 task 1: activity(wipe) is not paid: no predicate of the body tells it'
    ]
    assert last_status(outputs).open == (wipe.id,)
    outputs = feed(tracker, verdict(0, wipe, 2 * SECOND + 1), predicates(2), done(2))
    assert last_status(outputs).completed == (wipe.id, 'grasp(soup)')


def test_verdicts_pay_where_the_body_publishes_no_predicates():
    first, second = grasp('soup', 0), place('soup', 1)
    tracker = make(truth_source='verdicts', durations={first.id: 2.0, f't/{second.id}': 2.0})
    outputs = feed(
        tracker,
        start(),
        plan(first, second),
        verdict(0, first, SECOND + 5),
        done(1),
        verdict(1, second, 2 * SECOND + 5),
        done(2, success=True),
    )
    pages = rewards_of(outputs)
    assert [page.terms for page in pages] == [
        ((first.id, 0.6 / 1.5),),
        ((second.id, 0.6 / 1.5), ('success', 2.0)),
    ]
    assert tracker.trace()['cases'][0]['input']['pacing'] == 'demo'


def test_verdict_of_a_later_revision_pays_the_subtask_of_the_first():
    first, second = grasp('soup', 0), place('soup', 1)
    tracker = make(truth_source='verdicts', pacing='fixed')
    outputs = feed(
        tracker,
        start(),
        plan(first, second),
        verdict(0, first, SECOND + 5),
        done(1),
        plan(second, revision=2, stamp=2 * SECOND),
        verdict(0, second, 2 * SECOND + 5, revision=2),
        done(2),
    )
    assert [page.value for page in rewards_of(outputs)] == [0.3, 0.3]


@pytest.mark.parametrize(
    ('lost', 'line'),
    [
        ((predicates(2),), 'chunk 2: predicates lost'),
        ((done(2),), 'chunk 2: chunk_done lost'),
        ((predicates(2), done(2)), 'chunk 2: chunk_done and predicates lost'),
    ],
)
def test_chunk_gap_is_reported_and_pays_nothing_unknown(lost, line):
    tracker = make()
    stream = [m for chunk in (1, 2, 3) for m in (predicates(chunk), done(chunk))]
    kept = [m for m in stream if not any(type(m) is type(x) and m.chunk == x.chunk for x in lost)]
    outputs = feed(tracker, start(), predicates(0), plan(grasp('soup', 0)), *kept)
    expected = [1, 3] if len(lost) == 2 else [1, 2, 3]
    assert [page.chunk for page in rewards_of(outputs)] == expected
    assert [report for report in tracker.take_reports() if report.startswith(line)]
    assert len(scored_values(tracker)) == 3


def test_tracker_that_joins_late_measures_from_the_start_and_reports():
    tracker = make(durations={'grasp(soup_1)': 7.0})
    outputs = feed(
        tracker, plan(grasp('soup', 0)), start(), predicates(7, ['grasp(soup_1)']), done(7)
    )
    assert rewards_of(outputs)[0].terms == (('grasp(soup_1)', 0.3),)
    assert tracker.take_reports() == [
        'chunks 1 to 6: chunk_done and predicates lost; what is not known pays nothing'
    ]


def test_revision_without_its_first_pays_success_only_and_says_so():
    tracker = make()
    outputs = feed(
        tracker,
        start(),
        predicates(0),
        plan(grasp('soup', 0), revision=3),
        predicates(1, ['grasp(soup_1)']),
        done(1, success=True),
    )
    assert rewards_of(outputs)[0].terms == (('success', 2.0),)
    assert any('revision 1 was not seen' in line for line in tracker.take_reports())
    assert last_status(outputs).revision == 3


def test_new_episode_resets_the_status_and_old_chunks_still_count():
    tracker = make()
    feed(tracker, start(), predicates(0), plan(grasp('soup', 0)))
    outputs = feed(tracker, start(2, 9 * SECOND))
    assert last_status(outputs) == SubtaskStatus(9 * SECOND, 2, 0, 0, '', (), (), ())
    outputs = feed(tracker, predicates(1, ['grasp(soup_1)']), done(1, truncated=True))
    assert [type(output) for output in outputs] == [Reward]
    assert outputs[0].value > 0.0
    outputs = feed(tracker, predicates(1, [], 10 * SECOND, 2), done(1, 10 * SECOND, 2))
    assert rewards_of(outputs)[0].episode_return == 0.0
    assert feed(tracker, start(1, SECOND)) == []


def test_body_that_was_started_anew_is_followed_from_its_first_episode():
    tracker = make()
    feed(tracker, start(4, 9 * SECOND), predicates(0, (), 9 * SECOND, 4), start(4, 9 * SECOND))
    feed(tracker, plan(grasp('soup', 0), stamp=9 * SECOND))
    assert tracker.take_reports() == []
    outputs = feed(tracker, start(1, SECOND), predicates(0), plan(grasp('milk', 0)))
    assert tracker.take_reports() == ['the body began anew with episode 1']
    assert (last_status(outputs).episode, last_status(outputs).current) == (1, 'grasp(milk)')
    outputs = feed(tracker, predicates(1, ['grasp(milk_1)']), done(1))
    assert rewards_of(outputs)[0].value > 0.0


def test_pacing_is_uniform_where_a_duration_is_unknown():
    tracker = make(durations={}, horizon_chunks=10.0)
    feed(tracker, start(), predicates(0), plan(grasp('soup', 0), grasp('milk', 0)))
    outputs = feed(tracker, predicates(1, ['grasp(soup_1)']), done(1))
    assert rewards_of(outputs)[0].value == 0.6 / (1.0 + 1.0 / 5.0)
    assert any('no duration of grasp(' in line for line in tracker.take_reports())


def test_demo_pacing_filters_what_no_demonstration_timed():
    tracker = make(durations={'grasp(soup_1)': 1.0}, pacing='demo')
    feed(tracker, start(), predicates(0), plan(grasp('soup', 0), grasp('milk', 0)))
    outputs = feed(tracker, predicates(1, ['grasp(soup_1)', 'grasp(milk_1)']), done(1))
    assert rewards_of(outputs)[0].terms == (('grasp(soup_1)', 0.3),)


def test_unknown_words_in_settings_are_refused():
    with pytest.raises(ParameterError, match=r'^pacing: '):
        TrackerSettings(pacing='fast')
    with pytest.raises(ParameterError, match=r'^truth_source: '):
        TrackerSettings(truth_source='images')
