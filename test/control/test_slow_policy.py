"""A policy that thinks for long, with the real body loop: everything but topics, in body time."""

import numpy as np
import pytest

from structrl_ros.control.action_limiter import ActionLimiter
from structrl_ros.control.body_loop import BodyLoop
from structrl_ros.control.chunk_requester import ChunkRequest
from structrl_ros.control.chunk_requester import ChunkRequester
from structrl_ros.control.episode_runner import EpisodeRunner
from structrl_ros.control.limits import Limits
from structrl_ros.sim.kinematic.body import KinematicBody
from structrl_ros.sim.kinematic.expert import KinematicExpert
from structrl_ros.types import Plan
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus

PERIOD = 50_000_000
STEPS = (
    ('grasp', ('alphabet soup',), 'grasp(alphabet_soup_1)'),
    ('place', ('alphabet soup', 'basket'), 'in(alphabet_soup_1, basket_1_contain_region)'),
    ('grasp', ('tomato sauce',), 'grasp(tomato_sauce_1)'),
    ('place', ('tomato sauce', 'basket'), 'in(tomato_sauce_1, basket_1_contain_region)'),
)
SUBTASKS = tuple(Subtask(f'{v}({a[0]})', '', v, a, i) for i, (v, a, _) in enumerate(STEPS))


class Graph:
    """Body, policy and tracker of one episode; an answer takes `latency` control periods."""

    def __init__(self, latency, jitter=0):
        body = KinematicBody()
        self.body = body
        self.runner = EpisodeRunner(body, limiter=ActionLimiter(Limits(), period_s=0.05))
        self.loop = BodyLoop(self.runner, body.spec, lockstep=False)
        self.expert = KinematicExpert(chunk_length=16)
        self.asker = ChunkRequester(self.expert.spec, lockstep=False, replan_steps=0)
        self.latency, self.jitter = latency, jitter
        self.rng = np.random.default_rng(0)
        self.refused, self.jumps, self.index, self.thought = [], [], 0, None
        episode = self.loop.reset('kinematic/two_in_basket', 0, 0).episode
        self.expert.reset(episode)
        self.asker.see_episode(episode)
        self.asker.see_plan(Plan(0, 1, '', SUBTASKS))
        self.pursue()

    def pursue(self):
        now = self.runner.now_ns
        current = SUBTASKS[self.index].id if self.index < len(SUBTASKS) else ''
        self.asker.see_status(SubtaskStatus(now, 1, 0, 1, current, (), (), ()))
        self.loop.pursue(current, now)

    def tick(self):
        now = self.runner.now_ns
        self.asker.store.take_proprioception(self.body.proprioception(now))
        self.asker.store.take_simulator(self.runner.simulator_state())
        self.asker.see_safety(self.loop.safety)
        if self.thought and now >= self.thought[0]:
            chunk = self.asker.answer(*self.thought[1:], now)
            self.thought = None
            if chunk is not None and (reason := self.loop.offer(chunk)):
                self.refused.append(reason)
            self.asker.see_safety(self.loop.safety)
        request = self.asker.ask(now) if self.thought is None else ''
        if isinstance(request, ChunkRequest):
            actions = self.expert.act(request.observation, request.subtask, '')
            wait = self.latency + int(self.rng.integers(0, self.jitter + 1))
            self.thought = (now + wait * PERIOD, request, actions)
        for result in self.loop.advance():
            self.asker.see_done(result.done)
            is_done = self.index < len(STEPS)
            if is_done and STEPS[self.index][2] in result.predicates.truth:
                self.index += 1
                self.pursue()

    def run(self, limit=400):
        for _ in range(limit):
            self.tick()
            if not self.runner.is_running:
                break
        return self.runner


@pytest.mark.parametrize('latency', [0, 1, 4, 7, 8, 9, 12, 16, 25])
@pytest.mark.parametrize('jitter', [0, 5])
def test_expert_solves_the_task_however_long_it_thinks(latency, jitter):
    graph = Graph(latency, jitter)
    runner = graph.run()
    assert not runner.is_running
    assert graph.index >= len(STEPS) - 1
    assert graph.refused == []


@pytest.mark.parametrize('latency', [1, 3, 6, 8])
def test_motion_with_thinking_time_is_the_motion_without(latency):
    """Within the rows that are left when it is asked, thinking only delays the start."""

    def moved(thinking):
        graph = Graph(thinking)
        heights = []
        while graph.index == 0:
            graph.tick()
            heights.append(graph.body.scene.gripper.copy())
        heights = np.array(heights)
        return heights[np.flatnonzero(heights[:, 2] < heights[0, 2])[0] :]

    quick, slow = moved(0), moved(latency)
    common = min(len(quick), len(slow))
    assert common >= 12
    assert np.allclose(slow[:common], quick[:common], atol=1e-6)
