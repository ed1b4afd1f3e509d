"""An arm in reflex and its servers, in a process of its own; prints what happened, as JSON.

Run with the interfaces of test/fakes/franka_interfaces, test/fakes and this folder on the path;
the argument says which step fails.
"""

import json
import os
import sys
import time

import numpy as np
from controller_manager_msgs.srv import SetHardwareComponentState
from controller_manager_msgs.srv import SwitchController
from franka_msgs.action import ErrorRecovery
from franka_msgs.msg import FrankaRobotState
from rclpy.action import ActionServer
from test_crisp_arm import Stack
from test_crisp_arm import ready

from structrl_ros.drivers.franka_ros_recovery import franka_recovery
from structrl_ros.drivers.franka_ros_state import watch_robot_state
from structrl_ros.errors import ArmError
from structrl_ros.types import ArmMode

CONTROLLER, HARDWARE = 'joint_impedance_controller', 'FrankaHardwareInterface'
STATE_TOPIC = 'franka_robot_state_broadcaster/robot_state'
IDLE, REFLEX = 1, 4


class Servers:
    """What franka_ros2 and ros2_control offer: each step works only after the one before."""

    def __init__(self, node, fails):
        self.done, self.fails, self.mode = [], fails, IDLE
        self.state = node.create_publisher(FrankaRobotState, STATE_TOPIC, 1)
        node.create_timer(0.02, self.tell)
        self.action = ActionServer(node, ErrorRecovery, 'action_server/error_recovery', self.clear)
        manager = 'controller_manager'
        for kind, name, serve in (
            (SetHardwareComponentState, 'set_hardware_component_state', self.set_hardware),
            (SwitchController, 'switch_controller', self.switch),
        ):
            node.create_service(kind, f'{manager}/{name}', serve)

    def tell(self):
        message = FrankaRobotState(robot_mode=self.mode)
        message.current_errors.cartesian_reflex = self.mode == REFLEX
        self.state.publish(message)

    def clear(self, goal):
        self.done.append('error_recovery')
        self.mode = IDLE
        goal.succeed()
        return ErrorRecovery.Result()

    def set_hardware(self, request, response):
        self.done.append(f'{request.name} {request.target_state.label}')
        response.ok = self.mode == IDLE and self.fails != 'hardware'
        return response

    def switch(self, request, response):
        self.done.append(' '.join(request.activate_controllers))
        strict = request.strictness == SwitchController.Request.STRICT
        response.ok = strict and self.fails != 'controller'
        return response


def main():
    stack = Stack()
    servers = Servers(stack.robot, sys.argv[1])
    arm = stack.arm
    arm._recovery = franka_recovery(stack.node, controller=CONTROLLER, hardware=HARDWARE)
    watch_robot_state(stack.node, STATE_TOPIC, arm.note_mode)
    ready(stack)
    arm.start(lambda: None)
    servers.mode = REFLEX
    stack.wait(lambda: arm.state().mode is ArmMode.REFLEX, 'reflex')
    errors = arm.state().errors
    stack.is_pushed, stack.position = True, stack.position + 0.1
    stack.wait(lambda: np.allclose(arm.state().position, stack.position), 'new place')
    why = ''
    try:
        arm.recover()
    except ArmError as error:
        why = str(error)
    told = {
        'why': why,
        'steps': servers.done,
        'errors': errors,
        'mode': arm.state().mode.name,
        'seed_error': float(np.abs(arm.state().reference - stack.position).max()),
    }
    sent = len(stack.heard)
    if not why:
        stack.wait(lambda: len(stack.heard) > sent + 3, 'targets')
        told['target_error'] = float(np.abs(stack.heard[-1].position - stack.position).max())
    else:
        time.sleep(0.3)
        told['sent_after'] = len(stack.heard) - sent
    sys.stdout.write(json.dumps(told) + '\n')
    sys.stdout.flush()
    os._exit(0)  # the servers are destroyed in no good order


if __name__ == '__main__':
    main()
