"""Claims of observation assembly and of when a policy is asked."""

from dataclasses import replace

import numpy as np
import pytest

from structrl_ros.control.chunk_requester import ChunkRequest
from structrl_ros.control.chunk_requester import ChunkRequester
from structrl_ros.control.continuation import pause_for_hold
from structrl_ros.control.observation_store import ObservationStore
from structrl_ros.errors import MessageError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import StaleDataError
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import PolicySpec
from structrl_ros.types import Proprioception
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import SimulatorState
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus

SECOND = 1_000_000_000
PERIOD = SECOND // 20
T0 = 10 * SECOND
SPEC = PolicySpec('net', 'ee_delta_pose', 7, 8, ('head',), {'head': 0.3, 'proprioception': 0.1})
EXPERT = PolicySpec('expert', 'ee_delta_pose', 7, 8, (), {}, privileged=True)
GRASP = Subtask('grasp(cup)', 'grasp the cup', 'grasp', ('cup',), 0)
PLACE = Subtask('place(cup)', 'place the cup', 'place', ('cup', 'table'), 1)
PLAN = Plan(T0, 1, 'put the cup on the table', (GRASP, PLACE))
IMAGE = np.zeros((4, 4, 3), np.uint8)


def arm(stamp_ns):
    return Proprioception(stamp_ns, (), np.zeros(0), np.zeros(0), np.zeros(7), np.zeros(2))


def world(stamp_ns, episode=1):
    return SimulatorState(stamp_ns, episode, 0, 0, 'task', 0, 0, np.zeros(3))


def episode(number=1, stamp_ns=T0, ended=False):
    return Episode(stamp_ns, number, ended, 'kinematic', 'task', '', 0, 0)


def status(current='grasp(cup)', chunk=0, revision=1, number=1, stamp_ns=T0):
    return SubtaskStatus(stamp_ns, number, chunk, revision, current, (), (), ())


def done(chunk, stamp_ns, number=1):
    return ChunkDone(stamp_ns, number, chunk, 8, False, False, False, np.zeros((8, 7)))


def requester(spec=EXPERT, lockstep=False, replan_steps=4):
    asker = ChunkRequester(spec, lockstep=lockstep, replan_steps=replan_steps)
    asker.see(PLAN)
    asker.see(episode())
    asker.see_status(status())
    see(asker, T0)
    return asker


def see(asker, stamp_ns, number=1):
    asker.store.take_proprioception(arm(stamp_ns))
    asker.store.take_simulator(world(stamp_ns, number))


def answer(asker, request):
    return asker.answer(request, np.zeros((8, 7), np.float32), T0)


def safety(state, stamp_ns=T0):
    return Safety(stamp_ns, state, '')


class TestStore:
    def store(self):
        store = ObservationStore(SPEC)
        store.clear(1, T0)
        return store

    def test_observation_takes_the_arm_nearest_to_its_picture(self):
        store = self.store()
        for k in range(6):
            store.take_proprioception(arm(T0 + k * PERIOD))
        store.take_image('head', T0 + 2 * PERIOD, IMAGE)
        seen = store.assemble(T0 + 5 * PERIOD)
        assert seen.stamp_ns == T0 + 2 * PERIOD
        assert seen.proprioception.stamp_ns == T0 + 2 * PERIOD
        assert seen.image_stamps_ns == {'head': T0 + 2 * PERIOD}
        assert seen.simulator is None

    def test_missing_old_and_future_parts_are_told_with_their_numbers(self):
        store = self.store()
        with pytest.raises(StaleDataError, match='no head yet'):
            store.assemble(T0)
        store.take_image('head', T0, IMAGE)
        store.take_proprioception(arm(T0))
        assert store.assemble(T0 + PERIOD).episode == 1
        store.take_proprioception(arm(T0 + 12 * PERIOD))
        with pytest.raises(StaleDataError, match=r'head 0.60 s old, limit 0.30 s'):
            store.assemble(T0 + 12 * PERIOD)
        store.take_image('head', T0 + 12 * PERIOD, IMAGE)
        with pytest.raises(StaleDataError, match=r'proprioception 0.15 s old, limit 0.10 s'):
            store.assemble(T0 + 15 * PERIOD)
        with pytest.raises(StaleDataError, match='use_sim_time'):
            store.assemble(1_700_000_000 * SECOND)
        with pytest.raises(StaleDataError, match='ahead of the clock'):
            store.assemble(T0 - SECOND)

    def test_data_of_the_episode_before_is_not_taken(self):
        store = ObservationStore(EXPERT)
        store.clear(2, T0)
        store.take_proprioception(arm(T0 - PERIOD))
        store.take_simulator(world(T0, episode=1))
        with pytest.raises(StaleDataError, match='no proprioception yet'):
            store.assemble(T0)
        store.take_proprioception(arm(T0))
        with pytest.raises(StaleDataError, match='no simulator yet'):
            store.assemble(T0)
        store.take_simulator(world(T0, episode=2))
        assert store.assemble(T0).simulator.episode == 2

    def test_data_that_overtakes_the_start_of_its_episode_is_kept(self):
        store = ObservationStore(replace(EXPERT, roles=('head',)))
        store.clear(1, T0)
        for stamp_ns, number in ((T0, 1), (T0 + SECOND, 2)):
            store.take_image('head', stamp_ns, IMAGE)
            store.take_proprioception(arm(stamp_ns))
            store.take_simulator(world(stamp_ns, number))
        store.clear(2, T0 + SECOND)
        seen = store.assemble_at(T0 + SECOND)
        assert (seen.simulator.episode, seen.stamp_ns) == (2, T0 + SECOND)

    def test_nothing_of_a_body_survives_its_restart(self):
        store = self.store()
        store.take_image('head', T0, IMAGE)
        store.take_proprioception(arm(T0))
        store.clear(1, SECOND)
        with pytest.raises(StaleDataError, match='no head yet'):
            store.assemble(SECOND)

    def test_older_picture_does_not_replace_a_newer_one(self):
        store = self.store()
        store.take_proprioception(arm(T0 + PERIOD))
        store.take_image('head', T0 + PERIOD, IMAGE)
        store.take_image('head', T0, IMAGE)
        assert store.assemble(T0 + PERIOD).stamp_ns == T0 + PERIOD

    def test_lockstep_waits_until_all_parts_have_the_one_stamp(self):
        store = self.store()
        store.take_image('head', T0, IMAGE)
        store.take_proprioception(arm(T0))
        assert store.assemble_at(T0).stamp_ns == T0
        with pytest.raises(StaleDataError, match=r'no head of 10.40 s yet'):
            store.assemble_at(T0 + 8 * PERIOD)
        store.take_proprioception(arm(T0 + 8 * PERIOD))
        with pytest.raises(StaleDataError, match=r'no head of 10.40 s yet'):
            store.assemble_at(T0)
        store.take_image('head', T0 + 8 * PERIOD, IMAGE)
        assert store.assemble_at(T0 + 8 * PERIOD).stamp_ns == T0 + 8 * PERIOD


def test_first_request_names_subtask_instruction_and_number_one():
    request = requester().ask(T0)
    assert (request.number, request.subtask) == (1, GRASP)
    assert request.instruction == 'put the cup on the table'
    assert request.observation.stamp_ns == T0


def test_chunk_carries_the_observations_stamp_and_the_experts_source():
    asker = requester()
    chunk = answer(asker, asker.ask(T0))
    assert (chunk.stamp_ns, chunk.episode, chunk.chunk) == (T0, 1, 1)
    assert (chunk.source, chunk.step_period) == ('expert', 0.05)
    assert chunk.actions.dtype == np.float32


def test_real_time_asks_replan_steps_after_the_last_observation():
    asker = requester(replan_steps=4)
    answer(asker, asker.ask(T0))
    for k in range(1, 4):
        see(asker, T0 + k * PERIOD)
        assert asker.ask(T0 + k * PERIOD) == ''
    assert asker.ask(T0 + 4 * PERIOD) == ''
    see(asker, T0 + 4 * PERIOD)
    request = asker.ask(T0 + 4 * PERIOD)
    assert request.number == 2
    assert request.observation.stamp_ns == T0 + 4 * PERIOD


def test_half_a_chunk_is_the_default_and_more_than_one_is_refused():
    asker = requester(replan_steps=0)
    answer(asker, asker.ask(T0))
    see(asker, T0 + 4 * PERIOD)
    assert isinstance(asker.ask(T0 + 4 * PERIOD), ChunkRequest)
    with pytest.raises(ParameterError, match='allowed: 0 to 8'):
        asker.replan(9)


def test_lockstep_asks_once_for_each_chunk():
    asker = requester(lockstep=True)
    assert answer(asker, asker.ask(T0)).chunk == 1
    assert asker.ask(T0) == ''
    asker.see_done(done(1, T0 + 8 * PERIOD))
    assert asker.ask(T0) == ''
    asker.see_status(status(chunk=1, stamp_ns=T0 + 8 * PERIOD))
    assert 'no proprioception of 10.40 s yet' in asker.ask(T0)
    see(asker, T0 + 8 * PERIOD)
    assert answer(asker, asker.ask(T0)).chunk == 2
    assert asker.ask(T0) == ''


def test_lockstep_asks_again_only_while_the_body_says_that_it_holds():
    asker = requester(lockstep=True)
    answer(asker, asker.ask(T0))
    asker.ask_again()
    assert asker.ask(T0) == ''
    asker.see_safety(safety(SafetyState.HOLD))
    asker.ask_again()
    assert asker.ask(T0).number == 2


@pytest.mark.parametrize(
    'change',
    [
        lambda a: a.see(status('place(cup)')),
        lambda a: a.see_status(status(revision=2)),
        lambda a: a.see_status(status('')),
        lambda a: a.see_episode(episode(2, T0 + SECOND)),
        lambda a: a.see_episode(episode(ended=True)),
        lambda a: a.see(Intervention(T0, 1, True, 'hand', np.zeros(7))),
        lambda a: a.pause(True),
        lambda a: a.see(safety(SafetyState.EMERGENCY)),
    ],
)
def test_answer_from_before_a_change_is_dropped(change):
    asker = requester()
    request = asker.ask(T0)
    change(asker)
    assert answer(asker, request) is None


def test_same_status_again_keeps_what_is_under_way():
    asker = requester()
    request = asker.ask(T0)
    asker.see_status(status(chunk=1))
    asker.see_safety(safety(SafetyState.HOLD))
    asker.take_over(False)
    assert answer(asker, request) is not None


def test_after_a_change_of_subtask_the_next_chunk_is_due_at_once():
    asker = requester()
    answer(asker, asker.ask(T0))
    asker.see_status(status('place(cup)'))
    assert asker.ask(T0).subtask == PLACE


@pytest.mark.parametrize(
    'change',
    [
        lambda a: a.see_status(status('')),
        lambda a: a.see_episode(episode(ended=True)),
        lambda a: a.see_episode(episode(2, T0 + SECOND)),
        lambda a: a.take_over(True),
        lambda a: a.pause(True),
        lambda a: a.see_safety(safety(SafetyState.STOPPED)),
    ],
)
def test_nobody_is_asked_while_there_is_nothing_to_do(change):
    asker = requester()
    change(asker)
    assert asker.ask(T0) == ''


def test_what_should_be_there_and_is_not_is_told():
    asker = requester()
    asker.see_status(status(revision=2))
    assert asker.ask(T0) == 'no plan of revision 2 yet'
    asker.see_plan(replace(PLAN, revision=2, subtasks=(PLACE,)))
    assert asker.ask(T0) == "subtask 'grasp(cup)' is not in plan 2"


def test_restarted_policy_goes_on_with_the_number_of_the_latched_subtask():
    for first in ('status', 'episode'):
        asker = ChunkRequester(EXPERT, lockstep=True, replan_steps=0)
        latched = status(chunk=5, stamp_ns=T0 + SECOND)
        if first == 'status':
            asker.see_status(latched)
            asker.see_episode(episode())
        else:
            asker.see_episode(episode())
            asker.see_status(latched)
        asker.see_plan(PLAN)
        see(asker, T0 + SECOND)
        assert answer(asker, asker.ask(T0)).chunk == 6


def test_numbers_start_again_with_an_episode():
    asker = requester()
    answer(asker, asker.ask(T0))
    asker.see_done(done(9, T0 + SECOND))
    asker.see_episode(episode(2, T0 + 2 * SECOND))
    asker.see_status(status(number=2, stamp_ns=T0 + 2 * SECOND))
    see(asker, T0 + 2 * SECOND, 2)
    assert asker.ask(T0 + 2 * SECOND).number == 1


@pytest.mark.parametrize(
    ('actions', 'reason'),
    [
        (np.full((8, 7), np.nan), 'NaN or infinity in row 0'),
        (np.zeros((7, 7)), r'shape \(7, 7\); allowed: \(8, 7\)'),
        (np.zeros(7), r'shape \(7,\)'),
    ],
)
def test_wrong_answer_of_a_policy_is_refused(actions, reason):
    asker = requester()
    request = asker.ask(T0)
    with pytest.raises(MessageError, match=reason):
        asker.answer(request, actions, T0)
    assert answer(asker, request).chunk == 1


class TestPause:
    """A slow policy and a body that stands still meanwhile: the motion is delayed, not cut."""

    rows = np.tile(np.arange(1, 9, dtype=np.float32)[:, None], (1, 7))

    def pause(self, still, now, gripper=-1.0):
        at = [T0, T0 + still * PERIOD, T0 + now * PERIOD]
        return pause_for_hold(self.rows, *at, PERIOD, gripper)[:, 0].tolist()

    def test_body_at_rest_since_the_observation_gets_all_rows_after_now(self):
        assert self.pause(-5, 3) == [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]

    def test_body_that_stopped_in_between_goes_on_where_it_stopped(self):
        assert self.pause(2, 4) == [1, 2, 0, 0, 0, 3, 4, 5, 6, 7, 8]

    def test_chunk_that_ran_out_before_the_hold_is_left_alone(self):
        assert self.pause(8, 12) == self.rows[:, 0].tolist()

    def test_pause_keeps_the_gripper(self):
        padded = pause_for_hold(self.rows, T0, T0, T0, PERIOD, 0.5)
        assert padded[0].tolist() == [0, 0, 0, 0, 0, 0, 0.5]
        assert pause_for_hold(self.rows, T0, T0, T0, PERIOD)[0, -1] == 1.0

    @pytest.mark.parametrize('lockstep', [False, True])
    def test_only_a_holding_body_in_real_time_gets_a_pause(self, lockstep):
        for state, longer in ((SafetyState.OK, False), (SafetyState.HOLD, not lockstep)):
            asker = requester(lockstep=lockstep)
            asker.see_safety(safety(state, T0))
            request = asker.ask(T0)
            chunk = asker.answer(request, self.rows, T0 + 4 * PERIOD)
            assert chunk.stamp_ns == T0
            assert (len(chunk.actions) > 8) is longer

    def test_body_that_drops_the_chunk_of_the_subtask_before_gets_a_pause(self):
        asker = requester()
        asker.see_safety(safety(SafetyState.OK, T0))
        asker.answer(asker.ask(T0), self.rows, T0)
        asker.see_status(status('place(cup)', chunk=1))
        request = asker.ask(T0)
        late = asker.answer(request, self.rows, T0 + 2 * PERIOD)
        assert late.actions[:, 0].tolist() == [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
