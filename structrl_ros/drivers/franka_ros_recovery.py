"""Recovery of an arm under franka_ros2: three steps in this order, or the node dies.

Clear the robot's errors, activate the hardware component, activate the controller. Needs
franka_msgs and controller_manager_msgs of a ROS 2 installation; they are no wheels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionClient
from rclpy.node import Node

from structrl_ros.errors import ArmError

#: Longest wait for each step, seconds.
STEP_S = 10.0


def in_order(steps: list[tuple[str, Callable[[], None]]]) -> Callable[[], None]:
    """Return a recovery that does steps one after the other and names the one that fails.

    Raises:
        ArmError: From the recovery, if a step fails; the steps after it are not done.
    """

    def recover() -> None:
        for name, step in steps:
            try:
                step()
            except ArmError as error:
                raise ArmError(f'recovery failed at {name!r}: {error}') from None

    return recover


def franka_recovery(node: Node, *, controller: str, hardware: str) -> Callable[[], None]:
    """Return the recovery of an arm in the node's namespace.

    Raises:
        ArmError: If the message packages are not installed.
    """
    try:
        from controller_manager_msgs.srv import SetHardwareComponentState
        from controller_manager_msgs.srv import SwitchController
        from franka_msgs.action import ErrorRecovery
        from lifecycle_msgs.msg import State
    except ImportError as error:
        raise ArmError(
            f'{error.name} is not installed: source the ROS 2 workspace of franka_ros2, or leave '
            'the controller of the recovery empty'
        ) from None
    action = ActionClient(node, ErrorRecovery, 'action_server/error_recovery')
    component = node.create_client(
        SetHardwareComponentState, 'controller_manager/set_hardware_component_state'
    )
    switch = node.create_client(SwitchController, 'controller_manager/switch_controller')

    def clear() -> None:
        if not action.wait_for_server(STEP_S):
            raise ArmError('action error_recovery is not there')
        goal = _result(action.send_goal_async(ErrorRecovery.Goal()))
        if not goal.accepted:
            raise ArmError('the robot refused it')
        _result(goal.get_result_async())

    def activate_hardware() -> None:
        request = SetHardwareComponentState.Request(name=hardware)
        request.target_state = State(id=State.PRIMARY_STATE_ACTIVE, label='active')
        if not _call(component, request).ok:
            raise ArmError(f'component {hardware!r} did not become active')

    def activate_controller() -> None:
        request = SwitchController.Request(activate_controllers=[controller])
        request.strictness = SwitchController.Request.STRICT
        if not _call(switch, request).ok:
            raise ArmError(f'controller {controller!r} did not become active')

    return in_order(
        [
            ('error_recovery', clear),
            (f'hardware {hardware}', activate_hardware),
            (f'controller {controller}', activate_controller),
        ]
    )


def _call(client: Any, request: Any) -> Any:
    if not client.wait_for_service(STEP_S):
        raise ArmError(f'service {client.srv_name} is not there')
    return _result(client.call_async(request))


def _result(future: Any) -> Any:
    """Wait in a thread that does not spin for what the executor will set."""
    end = time.monotonic() + STEP_S
    while not future.done():
        if time.monotonic() > end:
            raise ArmError(f'no answer within {STEP_S:g} s')
        time.sleep(0.01)
    return future.result()
