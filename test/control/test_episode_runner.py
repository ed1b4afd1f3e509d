"""Claims of the episode runner and the body's loop, on the kinematic world."""

import numpy as np
import pytest

from structrl_ros.control.action_limiter import ActionLimiter
from structrl_ros.control.body_loop import BodyLoop
from structrl_ros.control.episode_runner import START_NS
from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.control.limits import Limits
from structrl_ros.errors import SimulationError
from structrl_ros.sim.kinematic.body import KinematicBody
from structrl_ros.sim.kinematic.expert import KinematicExpert
from structrl_ros.types import ActionChunk
from structrl_ros.types import SafetyState
from structrl_ros.types import Subtask

TASK = 'kinematic/soup_in_basket'
PERIOD = 50_000_000
PLACE = Subtask('place(alphabet soup, basket)', '', 'place', ('alphabet soup', 'basket'), 0)
RIGHT = np.array([0, -1, 0, 0, 0, 0, -1], np.float32)


def make_runner(**options):
    body = KinematicBody(**options)
    return EpisodeRunner(body, limiter=ActionLimiter(Limits(), period_s=0.05)), body.spec


@pytest.fixture
def runner():
    runner, _ = make_runner()
    runner.reset(TASK, 0, 0)
    return runner


def make_loop(lockstep, **options):
    runner, spec = make_runner(**options)
    loop = BodyLoop(runner, spec, lockstep=lockstep)
    return runner, loop


def chunk(runner, number, rows=8, stamp=None, action=RIGHT, episode=None):
    return ActionChunk(
        stamp_ns=runner.now_ns if stamp is None else stamp,
        episode=runner.episode.episode if episode is None else episode,
        chunk=number,
        source='policy',
        action_space='ee_delta_pose',
        step_period=0.05,
        actions=np.tile(np.asarray(action, np.float32), (rows, 1)),
    )


def solve(runner, rows=8):
    expert = KinematicExpert(chunk_length=rows)
    expert.reset(runner.episode)
    results = []
    while runner.is_running:
        actions = expert.act(runner.observe(privileged=True), PLACE, '')
        results.append(runner.run_chunk(actions))
    return results


def test_clock_starts_at_one_second_and_never_goes_back(runner):
    assert runner.now_ns == START_NS
    runner.run_chunk(np.tile(RIGHT, (8, 1)))
    assert runner.now_ns == START_NS + 8 * PERIOD
    runner.reset(TASK, 0, 0)
    assert runner.now_ns == START_NS + 9 * PERIOD


def test_initial_message_has_chunk_zero_and_all_false():
    runner, _ = make_runner()
    result = runner.reset(TASK, 3, 4)
    assert (result.predicates.chunk, result.predicates.step) == (0, 0)
    assert result.predicates.truth == frozenset()
    assert result.episode.objects == ('alphabet soup', 'basket')
    assert (result.open_chunk, result.end_before) == (None, None)


def test_chunk_counts_executed_steps_and_stamps_the_observation_after_it(runner):
    result = runner.run_chunk(np.tile(RIGHT, (8, 1)))
    assert result.done.executed_steps == 8
    assert np.array_equal(result.done.executed, np.tile(RIGHT, (8, 1)))
    assert result.done.stamp_ns == result.predicates.stamp_ns == START_NS + 8 * PERIOD
    assert (result.done.chunk, result.predicates.step) == (1, 8)
    assert (result.done.terminated, result.done.truncated, result.end) == (False, False, None)


def test_success_ends_the_episode_inside_a_chunk_and_keeps_its_truth(runner):
    results = solve(runner)
    last = results[-1]
    assert last.done.terminated
    assert last.done.success
    assert not last.done.truncated
    assert last.done.executed_steps <= 8
    assert last.end.success
    assert last.end.end_reason == 'success'
    assert 'in(alphabet_soup_1, basket_1_contain_region)' in last.predicates.truth
    assert any('grasp(alphabet_soup_1)' in r.predicates.truth for r in results)
    with pytest.raises(SimulationError, match='no episode runs'):
        runner.run_chunk(np.tile(RIGHT, (1, 1)))


def test_predicate_true_in_any_step_of_a_chunk_is_true_for_the_chunk(runner):
    """pytorch/rl #4024: what was true inside a chunk only must not be lost."""
    whole = solve(runner, rows=200)
    assert len(whole) == 1
    assert whole[0].predicates.values == (True, True)


def test_horizon_truncates_and_cuts_the_chunk():
    runner, _ = make_runner(horizon_steps=10)
    runner.reset(TASK, 0, 0)
    runner.run_chunk(np.tile(RIGHT, (8, 1)))
    result = runner.run_chunk(np.tile(RIGHT, (8, 1)))
    assert result.done.executed_steps == 2
    assert (result.done.terminated, result.done.truncated) == (False, True)
    assert result.end.end_reason == 'horizon'
    assert not runner.is_running


def test_success_in_the_last_step_before_the_horizon_is_terminated_only(runner):
    steps = sum(r.done.executed_steps for r in solve(runner))
    short, _ = make_runner(horizon_steps=steps)
    short.reset(TASK, 0, 0)
    last = solve(short)[-1].done
    assert (last.terminated, last.truncated) == (True, False)


def test_executed_is_what_the_limiter_sent():
    body = KinematicBody()
    runner = EpisodeRunner(body, limiter=ActionLimiter(Limits(action_clip=0.5), period_s=0.05))
    runner.reset(TASK, 0, 0)
    done = runner.run_chunk(np.tile(RIGHT, (4, 1))).done
    assert done.executed[:, 1] == pytest.approx(-0.5, rel=1e-5)


def test_two_rollouts_are_equal_to_the_last_bit():
    def states():
        runner, _ = make_runner()
        runner.reset(TASK, 1, 2)
        solve(runner)
        return runner.simulator_state()

    first, second = states(), states()
    assert first.stamp_ns == second.stamp_ns
    assert np.array_equal(first.state, second.state)


def test_reset_in_the_middle_of_a_chunk_closes_the_part_that_ran():
    runner, loop = make_loop(True)
    loop.reset(TASK, 0, 0)
    assert loop.offer(chunk(runner, 1)) == ''
    for _ in range(3):
        assert loop.advance() == []
    result = loop.reset(TASK, 0, 1)
    assert result.open_chunk.done.executed_steps == 3
    assert result.open_chunk.done.truncated
    assert result.end_before.end_reason == 'reset'
    assert result.episode.episode == 2
    assert result.predicates.chunk == 0
    assert not loop.has_rows
    assert 'chunk of episode 1; running: 2' in loop.offer(chunk(runner, 2, episode=1))


def test_failed_reset_leaves_the_episode_running():
    runner, loop = make_loop(True)
    loop.reset(TASK, 0, 0)
    loop.offer(chunk(runner, 1))
    with pytest.raises(SimulationError, match='unknown task'):
        loop.reset('kinematic/none', 0, 0)
    assert runner.is_running
    results = []
    while loop.has_rows:
        results += loop.advance()
    assert results[0].done.executed_steps == 8


def test_lockstep_through_the_loop_equals_run_chunk():
    runner, loop = make_loop(True)
    loop.reset(TASK, 0, 0)
    expert = KinematicExpert()
    expert.reset(runner.episode)
    through = []
    while runner.is_running:
        actions = expert.act(runner.observe(privileged=True), PLACE, '')
        through_chunk = ActionChunk(
            runner.now_ns, 1, len(through) + 1, 'expert', 'ee_delta_pose', 0.05, actions
        )
        assert loop.offer(through_chunk) == ''
        while loop.has_rows:
            through += loop.advance()
    other, _ = make_runner()
    other.reset(TASK, 0, 0)
    direct = solve(other)
    assert [r.predicates for r in through] == [r.predicates for r in direct]
    assert [r.end for r in through] == [r.end for r in direct]
    for a, b in zip(through, direct, strict=True):
        assert np.array_equal(a.done.executed, b.done.executed)
    assert 'has ended (success)' in loop.offer(chunk(runner, 99))


def test_real_time_holds_without_a_chunk_and_says_so():
    runner, loop = make_loop(False)
    loop.reset(TASK, 0, 0)
    assert loop.safety.state is SafetyState.HOLD
    place = runner.observe().proprioception.ee_pose
    assert loop.advance() == []
    assert np.array_equal(runner.observe().proprioception.ee_pose, place)
    assert loop.offer(chunk(runner, 1, rows=2)) == ''
    assert loop.safety.state is SafetyState.OK
    assert loop.advance() == []
    (closed,) = loop.advance()
    assert closed.done.executed_steps == 2
    loop.advance()
    assert loop.safety.state is SafetyState.OK
    loop.advance()
    assert loop.safety.state is SafetyState.HOLD
    assert 'no chunk for 0.10 s' in loop.safety.reason


def test_newer_chunk_replaces_the_running_one_and_both_are_counted():
    runner, loop = make_loop(False)
    loop.reset(TASK, 0, 0)
    loop.offer(chunk(runner, 1))
    for _ in range(3):
        loop.advance()
    loop.offer(chunk(runner, 2, rows=4))
    results = []
    for _ in range(5):
        results += loop.advance()
    assert [(r.done.chunk, r.done.executed_steps) for r in results] == [(1, 3), (2, 4)]


def test_policy_numbers_do_not_reach_the_bodys_own_count():
    runner, loop = make_loop(False)
    loop.reset(TASK, 0, 0)
    results = []
    for number in (5, 9):
        loop.offer(chunk(runner, number, rows=2))
        for _ in range(4):
            results += loop.advance()
    assert [r.done.chunk for r in results] == [1, 2]


def test_restarted_policy_is_taken_while_holding_and_a_second_one_refused_while_running():
    runner, loop = make_loop(False)
    loop.reset(TASK, 0, 0)
    loop.offer(chunk(runner, 7, rows=4))
    loop.advance()
    assert 'does not rise' in loop.offer(chunk(runner, 7, rows=4))
    for _ in range(8):
        loop.advance()
    assert loop.safety.state is SafetyState.HOLD
    assert loop.offer(chunk(runner, 2, rows=4)) == ''


def test_rejected_chunk_of_an_idle_body_is_a_hold_with_its_reason():
    runner, loop = make_loop(True)
    loop.reset(TASK, 0, 0)
    bad = chunk(runner, 1, action=np.full(7, np.nan))
    assert loop.offer(bad).startswith('nan in row 0')
    assert loop.safety.state is SafetyState.HOLD
    assert 'chunk rejected: nan in row 0' in loop.safety.reason
    assert not loop.has_rows
    assert loop.offer(chunk(runner, 1)) == ''
    assert loop.safety.state is SafetyState.OK


def test_rejected_chunk_does_not_stop_the_running_one():
    runner, loop = make_loop(False)
    loop.reset(TASK, 0, 0)
    loop.offer(chunk(runner, 1))
    loop.advance()
    loop.offer(chunk(runner, 2, stamp=runner.now_ns + 10**9))
    assert loop.safety.state is SafetyState.OK
    assert loop.has_rows


def test_emergency_stop_cuts_the_chunk_and_is_latched_over_resets():
    runner, loop = make_loop(False)
    loop.reset(TASK, 0, 0)
    loop.offer(chunk(runner, 1))
    loop.advance()
    (cut,) = loop.emergency('button')
    assert cut.done.executed_steps == 1
    assert loop.safety.state is SafetyState.EMERGENCY
    place = runner.observe().proprioception.ee_pose
    for number in (2, 3):
        assert 'emergency stop' in loop.offer(chunk(runner, number))
        loop.advance()
    assert np.array_equal(runner.observe().proprioception.ee_pose, place)
    loop.reset(TASK, 0, 0)
    assert loop.safety.state is SafetyState.EMERGENCY
    loop.operator_reset()
    assert loop.offer(chunk(runner, 1)) == ''
    assert loop.safety.state is SafetyState.OK


def test_changed_subtask_drops_chunks_made_before_it_in_real_time_only():
    for lockstep, rows_left in ((False, False), (True, True)):
        runner, loop = make_loop(lockstep)
        loop.reset(TASK, 0, 0)
        loop.pursue('grasp(soup)', runner.now_ns)
        loop.offer(chunk(runner, 1))
        loop.advance()
        loop.pursue('grasp(soup)', runner.now_ns)
        assert loop.has_rows
        loop.pursue('place(soup)', runner.now_ns)
        assert loop.has_rows is rows_left


def test_takeover_drops_the_policy_and_refuses_it_until_release():
    runner, loop = make_loop(True)
    loop.reset(TASK, 0, 0)
    loop.offer(chunk(runner, 1))
    loop.advance()
    (cut,) = loop.take_over(True)
    assert cut.done.executed_steps == 1
    assert "source 'policy' is not allowed; allowed: teleop" in loop.offer(chunk(runner, 2))
    loop.take_over(False)
    assert loop.offer(chunk(runner, 2)) == ''


def test_success_while_holding_is_a_chunk_of_zero_steps():
    body = KinematicBody()
    runner = EpisodeRunner(body)
    loop = BodyLoop(runner, body.spec, lockstep=False)
    loop.reset(TASK, 0, 0)
    body.scene.cans[0] = [*body.scene.basket, 0.4]
    results = []
    while runner.is_running:
        results += loop.advance()
    (last,) = results
    assert last.done.terminated
    assert last.end.success
    assert last.done.executed.shape == (0, 7)
    assert 'in(alphabet_soup_1, basket_1_contain_region)' in last.predicates.truth


def test_broken_world_ends_the_episode_with_its_reason():
    runner, loop = make_loop(True)
    loop.reset(TASK, 0, 0)
    end = loop.fail('simulation failed: unstable')
    assert end.end_reason == 'simulation failed: unstable'
    assert 'unstable: call reset_episode' in loop.offer(chunk(runner, 1))
    assert loop.fail('again') is None
