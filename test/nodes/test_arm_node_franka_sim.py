"""arm_node over real topics on one side and the real network protocol on the other."""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
pytest.importorskip('pylibfranka')
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / 'drivers')]

from arm_harness import FORWARD  # noqa: E402
from arm_harness import ArmGraph  # noqa: E402
from arm_harness import ChunkDone  # noqa: E402
from simulated_controllers import OBJECT_M  # noqa: E402
from simulated_controllers import PYTHON  # noqa: E402
from simulated_controllers import Controller  # noqa: E402
from simulated_controllers import needs_real_time  # noqa: E402

from structrl_ros.control.kinematics import Kinematics  # noqa: E402
from structrl_ros.control.robot_description import load_robot  # noqa: E402
from structrl_ros.types import ArmMode  # noqa: E402
from structrl_ros.types import SafetyState  # noqa: E402

if not PYTHON.exists():
    pytest.skip('no simulated controller: make franka-sim', allow_module_level=True)

pytestmark = [
    pytest.mark.ros,
    pytest.mark.hardware_sim,
    pytest.mark.timeout(300),
    needs_real_time,
]

KINEMATICS = Kinematics(load_robot('fr3'))
#: The processes at 1 kHz come first on a busy machine, and nothing here is about the heartbeat.
SETTINGS = {
    'arm': 'fci',
    'dry_run': False,
    'realtime': 'try',
    'simulated_clock': True,
    'box_low': [0.1, -0.6, 0.05],
    'box_high': [0.9, 0.6, 1.1],
    'heartbeat_timeout_s': 5.0,
}


@pytest.fixture(scope='module')
def controller(tmp_path_factory):
    controller = Controller(tmp_path_factory.mktemp('controller'), number=9)
    yield controller
    controller.close()


@pytest.fixture
def graph(controller):
    graph = ArmGraph(6, address=controller.address, **SETTINGS)
    try:
        graph.ready()
        yield graph
    finally:
        graph.close()


def place(graph):
    return KINEMATICS.forward(graph.arm.state().position)[:3, 3]


def test_chunks_by_topic_move_the_arm_of_the_controller(graph):
    start = place(graph)
    down = FORWARD.copy()
    down[:, :3] = [0.0, 0.05, -0.1]
    for _ in range(8):
        graph.send(down)
        time.sleep(0.3)
    graph.wait(lambda: len(graph.all(ChunkDone)) >= 1, 'chunk_done')
    moved = place(graph) - start
    assert moved[2] < -0.05
    assert moved[1] > 0.02
    assert graph.arm.complaint == ''
    state = graph.states[-1]
    assert np.allclose(state.position[:7], graph.arm.state().position, atol=0.05)


def test_gripper_of_the_controller_grasps_what_a_chunk_asks_for(graph):
    closing = FORWARD * 0.0
    closing[:, 6] = 1.0
    end = time.monotonic() + 30.0
    while abs(graph.arm.state().opening - OBJECT_M) > 0.002:
        assert time.monotonic() < end
        graph.send(closing)
        time.sleep(0.2)
    graph.wait(lambda: abs(graph.states[-1].position[-1] - OBJECT_M / 2) < 0.002, 'fingers')


def test_reflex_is_on_safety_and_a_resume_recovers_it(graph):
    graph.keep_moving()
    child = graph.arm.process_ids[0]
    os.kill(child, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(child, signal.SIGCONT)
    graph.wait_for(SafetyState.STOPPED)
    graph.wait(lambda: graph.arm.state().mode is ArmMode.REFLEX, 'reflex')
    before = place(graph)
    graph.send()
    time.sleep(0.3)
    assert np.allclose(place(graph), before, atol=1e-3)
    response = graph.resume()
    assert response.success, response.message
    graph.keep_moving()
    graph.wait(lambda: np.abs(place(graph) - before).max() > 5e-3, 'motion')


def test_end_of_the_node_leaves_the_arm_at_rest(controller):
    before = len(controller.violations())
    graph = ArmGraph(7, address=controller.address, **SETTINGS)
    graph.ready()
    graph.keep_moving()
    graph.close()
    graph.wait(lambda: controller.violations()[before:], 'end of the motion')
    assert 'motion finished' in controller.violations()[-1]
