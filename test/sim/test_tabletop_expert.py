"""The reactive experts in MuJoCo: success, noise, turns with a policy, and the Policy port."""

import numpy as np
import pytest

from structrl_ros.control.episode_runner import simulated_episode
from structrl_ros.errors import SimulationError
from structrl_ros.errors import StaleDataError
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.registry import make_expert
from structrl_ros.sim.tabletop.bench import measure_expert
from structrl_ros.sim.tabletop.task_files import tasks
from structrl_ros.types import Observation
from structrl_ros.types import Subtask

pytestmark = pytest.mark.sim
pytest.importorskip('mujoco')

TASKS = tuple(tasks())
STEPS = (
    ('open lunch box', 'open', ('lunch box',)),
    ('grasp chicken', 'grasp', ('chicken',)),
    ('place chicken in lunch box', 'place', ('chicken', 'lunch box')),
    ('grasp apple', 'grasp', ('apple',)),
    ('place apple in lunch box', 'place', ('apple', 'lunch box')),
    ('close lunch box', 'close', ('lunch box',)),
)
PLAN = [Subtask(phrase, phrase, verb, things, i) for i, (phrase, verb, things) in enumerate(STEPS)]


@pytest.mark.parametrize('task', TASKS)
def test_expert_succeeds_on_states_it_was_not_tuned_on(task):
    score = measure_expert(task, 2, first=200)
    assert score.successes == 2, score.failed


@pytest.mark.slow
@pytest.mark.parametrize('task', TASKS)
def test_expert_succeeds_in_at_least_95_of_100_episodes(task):
    score = measure_expert(task, 100)
    assert score.successes >= 95, score.failed


def play(expert, subtasks, *, state=7, rows=8, latency=0):
    """Play a plan as the graph does: each subtask until its predicate is true; return success.

    With a latency every chunk is made from a state that lies so many rows back, with the rows on
    their way told as committed, as in real time.
    """
    body = make_body('tabletop')
    runner = simulated_episode(body)
    episode = runner.reset('pack_lunch', 0, state).episode
    expert.reset(episode)
    for subtask in subtasks:
        committed = np.zeros((0, 7), dtype=np.float32)
        for _ in range(20):
            seen = runner.observe(privileged=True)
            seen = Observation(seen.stamp_ns, seen.episode, simulator=seen.simulator,
                               committed=committed)  # fmt: skip
            chunk = expert.act(seen, subtask, '')
            actions = np.concatenate([committed, chunk])
            result = runner.run_chunk(actions[: rows - latency] if latency else actions)
            committed = actions[rows - latency :][:latency] if latency else committed
            if result.end is not None:
                body.close()
                return result.end.success
            if _done(body, subtask):
                break
        else:
            return False
    return False


def _done(body, subtask):
    kinds = {'open': 'open', 'grasp': 'grasp', 'place': 'in', 'close': 'close'}
    thing = subtask.arguments[0].replace(' ', '_')
    name = f'{kinds[subtask.verb]}({thing}_1'
    index = [n.startswith(name) for n in body.task.predicate_names].index(True)
    return bool(body.view.truth[0, index])


def test_expert_behind_the_policy_port_carries_out_a_plan_chunk_by_chunk():
    expert = make_expert('tabletop', chunk_length=8)
    assert expert.spec.privileged and expert.spec.continues
    assert expert.spec.control_rate_hz == 10.0
    assert play(expert, PLAN)
    expert.close()
    expert.close()


def test_expert_continues_the_rows_that_are_on_their_way():
    expert = make_expert('tabletop', chunk_length=8)
    assert play(expert, PLAN, rows=8, latency=3)
    expert.close()


def test_chunk_of_the_expert_is_what_the_body_then_does_bit_for_bit():
    body, expert = make_body('tabletop'), make_expert('tabletop', chunk_length=12)
    runner = simulated_episode(body)
    expert.reset(runner.reset('pack_lunch', 3, 4).episode)
    whole = expert.act(runner.observe(privileged=True), PLAN[0], '')
    for action in whole[:5]:
        runner.step(action)
    runner.close_chunk()
    seen = runner.observe(privileged=True)
    rest = expert.act(seen, PLAN[0], '')
    np.testing.assert_array_equal(rest[:7], whole[5:])
    told = Observation(seen.stamp_ns, seen.episode, simulator=seen.simulator,
                       committed=whole[5:8])  # fmt: skip
    np.testing.assert_array_equal(expert.act(told, PLAN[0], '')[:4], whole[8:])
    for each in (body, expert):
        each.close()


def test_done_subtask_stands_still_off_the_handle_and_keeps_what_it_holds():
    body, expert = make_body('tabletop'), make_expert('tabletop', chunk_length=40)
    runner = simulated_episode(body)
    expert.reset(runner.reset('pack_lunch', 3, 4).episode)
    runner.run_chunk(expert.act(runner.observe(privileged=True), PLAN[0], ''))
    assert body.view.reached[0, 0]
    assert np.linalg.norm(body.view.tcp - body.view.handles[:, 0]) > 0.03
    assert np.abs(body.view.velocity).max() < 0.01
    runner.run_chunk(expert.act(runner.observe(privileged=True), PLAN[1], ''))
    assert body.view.held[0, 0]
    assert np.abs(body.view.velocity).max() < 0.01
    for each in (body, expert):
        each.close()


def test_expert_refuses_what_it_cannot_do_in_one_line():
    body, expert = make_body('tabletop'), make_expert('tabletop')
    runner = simulated_episode(body)
    episode = runner.reset('pack_lunch', 0, 0).episode
    expert.reset(episode)
    seen = runner.observe(privileged=True)
    with pytest.raises(SimulationError, match="no skill for 'press button'"):
        expert.act(seen, Subtask('p', 'press button', 'press', ('button',), 0), '')
    with pytest.raises(StaleDataError, match='privileged/state'):
        expert.act(runner.observe(), PLAN[0], '')
    other = type(episode)(0, 1, False, 'libero', 'long/0', '', 0, 0)
    with pytest.raises(SimulationError, match="cannot act on body 'libero'"):
        expert.reset(other)
    with pytest.raises(SimulationError, match='chunk length 0'):
        make_expert('tabletop', chunk_length=0)
