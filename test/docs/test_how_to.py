"""The how-to pages: what they show runs, and does what they say."""

import re
from pathlib import Path

import numpy as np
import pytest

from structrl_ros import ports

PAGES = Path(__file__).parents[2] / 'docs' / 'how-to'


def blocks(page, language):
    text = (PAGES / f'{page}.md').read_text()
    found = re.findall(rf'^```{language}\n(.*?)^```', text, re.MULTILINE | re.DOTALL)
    assert found, f'{page}.md shows no {language}'
    return found


def run_page(page, **names):
    """Run the Python of a page from top to bottom in one namespace; return it."""
    for code in blocks(page, 'python'):
        exec(compile(code, f'{page}.md', 'exec'), names)
    return names


@pytest.mark.ros
def test_robot_of_the_page_is_an_arm_and_moves_up_in_its_body():
    pytest.importorskip('rclpy')
    shown = run_page('robot')
    assert isinstance(shown['arm'], ports.Arm)
    assert shown['after'][2] - shown['before'][2] == pytest.approx(0.17, abs=0.05)
    assert shown['after'][:2] == pytest.approx(shown['before'][:2], abs=0.005)


def test_camera_of_the_page_is_read_cropped_and_resized():
    shown = run_page('camera')
    camera = shown['MyCamera'](shown['CameraSettings']('7'), shown['clock'])
    assert isinstance(camera, ports.Camera)
    frame = shown['frames'][0]
    assert frame.image.shape == (24, 32, 3)
    assert frame.intrinsics.fx == pytest.approx(30.0)


def test_planner_and_monitor_of_the_page_are_read_by_the_parser():
    shown = run_page('vlm')
    assert isinstance(shown['MyPlanner'](), ports.Planner)
    assert isinstance(shown['MyMonitor'](), ports.Monitor)
    assert shown['plan'].phrases == ('grasp apple', 'place apple in lunch box')
    monitor, step = shown['MyMonitor'](), shown['step']
    assert monitor.verify(step, shown['before'], shown['after']).done
    assert not monitor.verify(step, shown['before'], shown['before']).done


def test_policy_of_the_page_reaches_its_place():
    shown = run_page('policy')
    assert isinstance(shown['policy'], ports.Policy)
    assert shown['reached'] == pytest.approx([0.5, 0.1, 0.2], abs=0.005)


def test_task_of_the_page_is_solved_by_the_expert_of_the_twin(tmp_path, monkeypatch):
    from structrl_ros.sim.tabletop import task_files
    from structrl_ros.sim.twin.world import TwinWorld
    from structrl_ros.world_types import EpisodeStart

    path = tmp_path / 'lemon_in_bowl.yaml'
    path.write_text(blocks('task', 'yaml')[0])
    shown = run_page('task', TASK_FILE=path)
    task = shown['task']
    assert task.instruction == 'pick up the lemon and place it in the bowl'
    monkeypatch.setattr(task_files, 'tasks', lambda: {task.name: task})
    world = TwinWorld(8)
    world.reset({lane: EpisodeStart(task.name, lane, 0) for lane in range(8)})
    done = np.zeros(8, dtype=bool)
    for _ in range(task.horizon):
        actions = world.expert_actions()[:, None]
        done |= world.run_chunk(actions, ~done).success
    world.close()
    assert done.all()


def test_index_of_the_page_is_free():
    from structrl_ros.sim.tabletop.task_files import tasks

    shown = re.search(r'^index: (\d+)$', blocks('task', 'yaml')[0], re.MULTILINE)
    assert int(shown[1]) not in {task.index for task in tasks().values()}


@pytest.mark.torch
def test_rewards_of_the_page_pay_what_it_says():
    pytest.importorskip('torch')
    shown = run_page('reward')
    assert isinstance(shown['reward'], ports.ChunkRewardModel)
    assert shown['first'].value == 0.0
    assert shown['second'].events == (('open(box)', 0.3), ('in(apple, box)', 0.3))
    assert shown['last'].terms[-1] == ('success', 2.0)
    assert shown['source'].checkpoints('pack_lunch') == ()


@pytest.mark.torch
def test_impatient_reward_of_the_page_takes_its_price_for_each_chunk_that_was_played():
    pytest.importorskip('torch')
    from drawn_rollouts import draw_rollouts
    from drawn_rollouts import small_flow

    shown = run_page('reward')
    rollouts = draw_rollouts(small_flow(), [3, 1], [True, False])
    plain = shown['make_reward']('terminal', 'twin', [])
    paid = shown['Impatient'](plain, 0.01)(rollouts).rewards
    assert np.allclose(plain(rollouts).rewards - paid, 0.01 * rollouts.valid)
