"""Codecs of the action ExecuteTask and of health on `/diagnostics`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from diagnostic_msgs.msg import DiagnosticArray
from diagnostic_msgs.msg import DiagnosticStatus
from diagnostic_msgs.msg import KeyValue
from structrl_msgs.action import ExecuteTask

from structrl_ros.types import Plan
from structrl_ros.wire.checks import UINT32
from structrl_ros.wire.checks import checked_duration
from structrl_ros.wire.checks import checked_float
from structrl_ros.wire.checks import checked_int
from structrl_ros.wire.checks import checked_text
from structrl_ros.wire.plan_codecs import plan_to_message
from structrl_ros.wire.stamps import header_to_message


def task_to_goal(instruction: str, time_limit: float = 0.0) -> ExecuteTask.Goal:
    """Return a goal of `execute_task`; `time_limit` in s of the body's clock, 0 = default."""
    return ExecuteTask.Goal(
        instruction=checked_text('ExecuteTask', 'instruction', instruction),
        time_limit=checked_duration('ExecuteTask', 'time_limit', time_limit),
    )


def task_from_goal(goal: ExecuteTask.Goal) -> tuple[str, float]:
    """Return instruction and time limit (s, 0 = the planner's default) of a goal.

    Raises:
        MessageError: If the time limit is negative or not finite.
    """
    instruction = checked_text('ExecuteTask', 'instruction', goal.instruction)
    return instruction, checked_duration('ExecuteTask', 'time_limit', goal.time_limit)


def task_feedback(
    current: str, index: int, total: int, *, potential: float = 0.0, episode_return: float = 0.0
) -> ExecuteTask.Feedback:
    """Return the feedback of a running task; `index` from 0, `total` subtasks in the plan."""
    return ExecuteTask.Feedback(
        current=checked_text('ExecuteTask', 'current', current),
        index=checked_int('ExecuteTask', 'index', index, UINT32),
        total=checked_int('ExecuteTask', 'total', total, UINT32),
        potential=checked_float('ExecuteTask', 'potential', potential),
        episode_return=checked_float('ExecuteTask', 'episode_return', episode_return),
    )


def task_result(
    success: bool, reason: str, plan: Plan | None, *, episode_return: float, replans: int
) -> ExecuteTask.Result:
    """Return the result of a task: every end has a reason."""
    result = ExecuteTask.Result(
        success=bool(success),
        reason=checked_text('ExecuteTask', 'reason', reason),
        episode_return=checked_float('ExecuteTask', 'episode_return', episode_return),
        replans=checked_int('ExecuteTask', 'replans', replans, UINT32),
    )
    if plan is not None:
        result.plan = plan_to_message(plan)
    return result


class HealthLevel(IntEnum):
    """Levels of diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


def health_to_message(
    stamp_ns: int, name: str, level: HealthLevel, text: str, values: Mapping[str, object]
) -> DiagnosticArray:
    """Return the `/diagnostics` message of one component, e.g. 'planner_node: monitor'."""
    status = DiagnosticStatus(
        level=bytes([int(level)]),
        name=checked_text('DiagnosticStatus', 'name', name),
        message=checked_text('DiagnosticStatus', 'message', text),
        values=[
            KeyValue(
                key=checked_text('DiagnosticStatus', 'key', key),
                value=checked_text('DiagnosticStatus', f'values[{key}]', str(value)),
            )
            for key, value in values.items()
        ],
    )
    return DiagnosticArray(header=header_to_message(stamp_ns), status=[status])


def health_from_message(
    message: DiagnosticArray,
) -> list[tuple[str, HealthLevel, str, dict[str, str]]]:
    """Return name, level, text and values of each component in a `/diagnostics` message.

    A level that ROS does not define, of somebody else's node, counts as STALE.
    """
    return [
        (
            str(status.name),
            _level(status.level[0] if isinstance(status.level, bytes) else status.level),
            str(status.message),
            {str(entry.key): str(entry.value) for entry in status.values},
        )
        for status in message.status
    ]


def _level(number: int) -> HealthLevel:
    return HealthLevel(number) if number in set(HealthLevel) else HealthLevel.STALE
