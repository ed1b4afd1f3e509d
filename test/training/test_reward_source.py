"""What rollouts earn equals the tracker's reward and `structrl score`, to the last bit."""

import json

import numpy as np
import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.rewards.robometer import robometer_rewards
from structrl_ros.rewards.structured import score_episode
from structrl_ros.subtasks.decomposition import Decomposition
from structrl_ros.subtasks.decomposition import GroundedSubtask
from structrl_ros.subtasks.decomposition import Provenance
from structrl_ros.training.reward_configurations import REWARDS
from structrl_ros.training.reward_configurations import find_reward
from structrl_ros.types import TaskInfo
from structrl_ros.world_types import EpisodeStart

pytestmark = pytest.mark.torch

OPEN, IN, GRASP, CLOSE = 'open(box_1)', 'in(can_1, box_1)', 'grasp(can_1)', 'close(box_1)'
LENGTH = 4


def decomposition(task, stages, chunks=3.0):
    names = [n for stage in stages for n in stage]
    return Decomposition(
        task=task,
        body='test',
        instruction='pack it',
        stages=tuple(tuple(GroundedSubtask(n, n) for n in stage) for stage in stages),
        provenance=Provenance('task data'),
        durations={LENGTH: {n: chunks + i for i, n in enumerate(names)}},
    )


DECOMPOSITIONS = {
    'pack': decomposition('pack', [[OPEN], [GRASP, IN], [CLOSE]]),
    'short': decomposition('short', [[GRASP], [IN]], 2.0),
}
#: The body publishes in another order, other names too, and one less where it is true at reset.
PUBLISHED = {
    'pack': (IN, CLOSE, 'open(other_1)', GRASP, OPEN),
    'short': (GRASP, IN),
    'pack, open': (IN, CLOSE, GRASP),
}


def rollouts(count=40, chunks=9, seed=0):
    from structrl_ros.training.rollouts import Rollouts

    random = np.random.default_rng(seed)
    kinds = [list(PUBLISHED)[i % 3] for i in range(count)]
    lengths = random.integers(1, chunks + 1, count)
    valid = np.arange(chunks)[None] < lengths[:, None]
    truth = (random.random((count, chunks, 5)) < 0.25) & valid[:, :, None]
    infos = []
    for episode, kind in enumerate(kinds):
        truth[episode, :, len(PUBLISHED[kind]) :] = False
        task = kind.split(',')[0]
        infos.append(TaskInfo(task, 'pack it', 100, PUBLISHED[kind], ('can', 'box')))
    success = random.random(count) < 0.4
    executed = random.random((count, chunks, LENGTH, 7)).astype(np.float32)
    executed *= valid[:, :, None, None]
    return Rollouts(
        features=np.zeros((count, chunks + 1, 2), np.float32),
        elapsed=np.zeros((count, chunks + 1), np.float32),
        chain=np.zeros((count, chunks, 2, LENGTH, 5), np.float32),
        log_prob=np.zeros((count, chunks, LENGTH, 5), np.float32),
        valid=valid,
        truth=truth,
        steps=np.where(valid, LENGTH, 0),
        executed=executed,
        success=success,
        terminated=success,
        truncated=~success,
        tasks=tuple(infos),
        starts=tuple(EpisodeStart(i.task, e, 0) for e, i in enumerate(infos)),
    )


@pytest.fixture(scope='module')
def played():
    return rollouts()


def structured(name):
    from structrl_ros.training.reward_source import StructuredRewards

    return StructuredRewards(DECOMPOSITIONS, find_reward(name))


WAYS = ('structured', 'terminal', 'fixed', 'fixed_gated', 'paced', 'uniform', 'beta_2.0')


@pytest.mark.parametrize('name', WAYS)
def test_rewards_are_those_of_the_tracker_one_episode_at_a_time(played, name):
    source = structured(name)
    paid = source(played)
    assert (paid.rewards[~played.valid] == 0.0).all()
    for episode, rule in enumerate(source.rules(played)):
        chunks = played.lengths[episode]
        names = played.tasks[episode].predicate_names
        rows = played.truth[episode, :chunks]
        truth = [{n for n, v in zip(names, row, strict=False) if v} for row in rows]
        success = [False] * (chunks - 1) + [bool(played.success[episode])]
        expected = score_episode(rule, truth, success)
        assert paid.rewards[episode, :chunks].tolist() == [r.value for r in expected]
        terms = {n: v for r in expected for n, v in r.events}
        own = dict(zip(paid.names[episode], paid.payments[episode].sum(axis=0), strict=False))
        assert {n: v for n, v in own.items() if v} == {n: v for n, v in terms.items() if v}


@pytest.mark.parametrize('name', WAYS)
def test_structrl_score_of_the_trace_gives_the_same_bits(played, name):
    from structrl_ros.cli.score import score_document
    from structrl_ros.training.traces import trace_document

    source = structured(name)
    document = json.loads(json.dumps(trace_document(played, source)))
    scored, is_fine = score_document('structured_reward', document)
    assert is_fine
    paid = source(played)
    for episode, case in enumerate(scored['cases']):
        chunks = played.lengths[episode]
        assert case['output']['rewards'] == paid.rewards[episode, :chunks].tolist()


def test_what_is_true_at_reset_is_neither_paid_nor_waited_for(played):
    source = structured('structured')
    rules = source.rules(played)
    assert rules[0].stages == ((OPEN,), (GRASP, IN), (CLOSE,))
    assert rules[2].stages == ((GRASP, IN), (CLOSE,))
    assert OPEN not in rules[2].durations


def test_tracker_pays_the_same_for_the_same_plan(played):
    from structrl_ros.plan.parse import parse_plan
    from structrl_ros.plan.parse import to_plan
    from structrl_ros.rewards.structured import StructuredReward
    from structrl_ros.subtasks.paid_task import PaidTask
    from structrl_ros.subtasks.paid_task import TrackerSettings

    text = '{"stages": [["open the box"], ["grasp can", "put can in box"], ["close box"]]}'
    durations = DECOMPOSITIONS['pack'].durations_at(LENGTH)
    task = PaidTask(
        '',
        'pack',
        to_plan(parse_plan(text)),
        TrackerSettings(durations=durations),
        StructuredReward,
    )
    task.ground(PUBLISHED['pack'], ())
    paid = structured('structured')(played)
    names = played.tasks[0].predicate_names
    chunks = played.lengths[0]
    for k in range(chunks):
        truth = {n for n, v in zip(names, played.truth[0, k], strict=True) if v}
        is_won = bool(played.success[0]) and k == chunks - 1
        assert task.step(truth, is_won).value == paid.rewards[0, k]


def test_terms_are_sums_of_an_episode_by_name(played):
    paid = structured('structured')(played)
    mine = np.array([t.task == 'pack' for t in played.tasks])
    terms = paid.terms(mine)
    assert set(terms) == {OPEN, GRASP, IN, CLOSE, 'success'}
    total = sum(values.sum() for values in terms.values())
    assert total == pytest.approx(paid.rewards[mine].sum())
    assert all(values.shape == (mine.sum(),) for values in terms.values())


def test_terminal_pays_success_alone_and_needs_no_decomposition(played):
    from structrl_ros.training.reward_source import StructuredRewards

    paid = StructuredRewards({}, find_reward('terminal'))(played)
    assert paid.rewards.sum() == 2.0 * played.success.sum()
    assert (paid.rewards.max(axis=1) == np.where(played.success, 2.0, 0.0)).all()


def test_robometer_rewards_are_equation_5_chunk_by_chunk(played):
    from structrl_ros.training.progress_stand_in import TrueProgress
    from structrl_ros.training.reward_source import RobometerRewards

    progress = TrueProgress(DECOMPOSITIONS, noise=0.1, seed=3)
    p = progress(played)
    paid = RobometerRewards(progress, beta_r=0.05)(played)
    for episode in range(played.episodes):
        chunks = played.lengths[episode]
        won = chunks - 1 if played.success[episode] else None
        expected = robometer_rewards(p[episode, :chunks], won, beta_r=0.05)
        assert paid.rewards[episode, :chunks].tolist() == expected.tolist()
        assert (paid.rewards[episode, chunks:] == 0.0).all()


def test_progress_without_noise_is_the_share_of_completed_subtasks(played):
    from structrl_ros.training.progress_stand_in import TrueProgress

    p = TrueProgress(DECOMPOSITIONS, noise=0.0)(played)
    assert (np.diff(p, axis=1)[played.valid[:, 1:]] >= 0.0).all()
    done = (structured('structured')(played).payments > 0).sum(axis=2).cumsum(axis=1)
    lost = ~played.success
    size = np.array([len(n) for n in structured('structured')(played).names])
    assert np.array_equal((p * size[:, None])[lost], (done * played.valid)[lost])


def test_noise_of_an_episode_does_not_depend_on_the_others(played):
    from structrl_ros.training.progress_stand_in import TrueProgress
    from structrl_ros.training.rollouts import join

    progress = TrueProgress(DECOMPOSITIONS, noise=0.2, seed=1)
    other = rollouts(count=6, chunks=4, seed=9)
    both = progress(join([other, played]))
    assert np.array_equal(both[6:], progress(played))
    assert not np.array_equal(progress(played), TrueProgress(DECOMPOSITIONS, noise=0.2)(played))


def test_matched_beta_r_pays_as_much_as_the_structured_reward(played):
    from structrl_ros.training.progress_stand_in import TrueProgress
    from structrl_ros.training.reward_source import RobometerRewards
    from structrl_ros.training.reward_source import match_beta_r

    progress = TrueProgress(DECOMPOSITIONS, noise=0.05)
    beta_r = match_beta_r(played, structured('structured'), progress)
    own = np.abs(RobometerRewards(progress, beta_r=beta_r)(played).payments).sum()
    assert own == pytest.approx(structured('structured')(played).payments.sum())
    with pytest.raises(ParameterError, match='beta_r'):
        match_beta_r(played, structured('terminal'), progress)


def test_each_named_configuration_is_as_the_paper_has_it():
    fields = {n: (c.kind, c.gating, c.pacing, c.beta, c.cap) for n, c in REWARDS.items()}
    assert fields['terminal'][0] == fields['density_0'][0] == 'terminal'
    assert fields['fixed'] == ('structured', False, 'fixed', 0.6, None)
    assert fields['paced'] == ('structured', False, 'demo', 0.6, None)
    assert fields['structured'] == ('structured', True, 'demo', 0.6, None)
    assert fields['uniform'] == ('structured', True, 'uniform', 0.6, None)
    assert fields['capped_14'] == ('structured', True, 'fixed', 0.6, pytest.approx(1.8))
    assert {fields[f'beta_{b}'][3] for b in (0.2, 0.6, '1.0', '2.0')} == {0.2, 0.6, 1.0, 2.0}
    with pytest.raises(ParameterError, match='unknown reward'):
        find_reward('dense')


def test_task_without_decomposition_is_named(played):
    from structrl_ros.training.reward_source import StructuredRewards

    source = StructuredRewards({'short': DECOMPOSITIONS['short']}, find_reward('structured'))
    with pytest.raises(ParameterError, match="no decomposition of task 'pack'; known: short"):
        source(played)
