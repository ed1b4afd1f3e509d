"""Codecs of the plan side: Subtask, Plan, Verdict, SubtaskStatus."""

from __future__ import annotations

from structrl_msgs.msg import Plan as PlanMessage
from structrl_msgs.msg import Subtask as SubtaskMessage
from structrl_msgs.msg import SubtaskStatus as SubtaskStatusMessage
from structrl_msgs.msg import Verdict as VerdictMessage

from structrl_ros.types import Plan
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict
from structrl_ros.wire.checks import MAX_NAMES
from structrl_ros.wire.checks import UINT16
from structrl_ros.wire.checks import UINT32
from structrl_ros.wire.checks import checked_count
from structrl_ros.wire.checks import checked_duration
from structrl_ros.wire.checks import checked_int
from structrl_ros.wire.checks import checked_names
from structrl_ros.wire.checks import checked_text
from structrl_ros.wire.checks import checked_unit
from structrl_ros.wire.stamps import header_to_message
from structrl_ros.wire.stamps import stamp_from_header


def subtask_to_message(subtask: Subtask) -> SubtaskMessage:
    """Return the message of one step of a plan."""
    return SubtaskMessage(
        id=checked_text('Subtask', 'id', subtask.id),
        phrase=checked_text('Subtask', 'phrase', subtask.phrase),
        verb=checked_text('Subtask', 'verb', subtask.verb),
        arguments=checked_names('Subtask', 'arguments', subtask.arguments),
        stage=checked_int('Subtask', 'stage', subtask.stage, UINT16),
    )


def subtask_from_message(message: SubtaskMessage) -> Subtask:
    """Return one step of a plan."""
    return Subtask(
        id=checked_text('Subtask', 'id', message.id),
        phrase=checked_text('Subtask', 'phrase', message.phrase),
        verb=checked_text('Subtask', 'verb', message.verb),
        arguments=tuple(checked_names('Subtask', 'arguments', message.arguments)),
        stage=int(message.stage),
    )


def plan_to_message(plan: Plan) -> PlanMessage:
    """Return the message of a plan.

    Raises:
        MessageError: If it has too many subtasks or a field out of range.
    """
    checked_count('Plan', 'subtasks', len(plan.subtasks), MAX_NAMES)
    return PlanMessage(
        header=header_to_message(plan.stamp_ns),
        revision=checked_int('Plan', 'revision', plan.revision, UINT32),
        instruction=checked_text('Plan', 'instruction', plan.instruction),
        subtasks=[subtask_to_message(subtask) for subtask in plan.subtasks],
        reasoning=checked_text('Plan', 'reasoning', plan.reasoning),
        planner=checked_text('Plan', 'planner', plan.planner),
    )


def plan_from_message(message: PlanMessage) -> Plan:
    """Return a plan.

    Raises:
        MessageError: If it has too many subtasks or a field out of range.
    """
    checked_count('Plan', 'subtasks', len(message.subtasks), MAX_NAMES)
    return Plan(
        stamp_ns=stamp_from_header(message.header),
        revision=int(message.revision),
        instruction=checked_text('Plan', 'instruction', message.instruction),
        subtasks=tuple(subtask_from_message(subtask) for subtask in message.subtasks),
        reasoning=checked_text('Plan', 'reasoning', message.reasoning),
        planner=checked_text('Plan', 'planner', message.planner),
    )


def verdict_to_message(verdict: Verdict) -> VerdictMessage:
    """Return the message of a verdict; confidence and latency become float32."""
    return VerdictMessage(
        header=header_to_message(verdict.stamp_ns),
        revision=checked_int('Verdict', 'revision', verdict.revision, UINT32),
        index=checked_int('Verdict', 'index', verdict.index, UINT16),
        subtask_id=checked_text('Verdict', 'subtask_id', verdict.subtask_id),
        done=bool(verdict.done),
        confidence=checked_unit('Verdict', 'confidence', verdict.confidence),
        latency=checked_duration('Verdict', 'latency', verdict.latency),
        monitor=checked_text('Verdict', 'monitor', verdict.monitor),
        stop=bool(verdict.stop),
    )


def verdict_from_message(message: VerdictMessage) -> Verdict:
    """Return a verdict.

    Raises:
        MessageError: If confidence is outside [0, 1] or latency negative.
    """
    return Verdict(
        stamp_ns=stamp_from_header(message.header),
        revision=int(message.revision),
        index=int(message.index),
        subtask_id=checked_text('Verdict', 'subtask_id', message.subtask_id),
        done=bool(message.done),
        confidence=checked_unit('Verdict', 'confidence', message.confidence),
        latency=checked_duration('Verdict', 'latency', message.latency),
        monitor=checked_text('Verdict', 'monitor', message.monitor),
        stop=bool(message.stop),
    )


def subtask_status_to_message(status: SubtaskStatus) -> SubtaskStatusMessage:
    """Return the message of where the plan stands."""
    return SubtaskStatusMessage(
        header=header_to_message(status.stamp_ns),
        episode=checked_int('SubtaskStatus', 'episode', status.episode, UINT32),
        chunk=checked_int('SubtaskStatus', 'chunk', status.chunk, UINT32),
        revision=checked_int('SubtaskStatus', 'revision', status.revision, UINT32),
        current=checked_text('SubtaskStatus', 'current', status.current),
        completed=checked_names('SubtaskStatus', 'completed', status.completed),
        open=checked_names('SubtaskStatus', 'open', status.open),
        blocked=checked_names('SubtaskStatus', 'blocked', status.blocked),
    )


def subtask_status_from_message(message: SubtaskStatusMessage) -> SubtaskStatus:
    """Return where the plan stands."""
    return SubtaskStatus(
        stamp_ns=stamp_from_header(message.header),
        episode=int(message.episode),
        chunk=int(message.chunk),
        revision=int(message.revision),
        current=checked_text('SubtaskStatus', 'current', message.current),
        completed=tuple(checked_names('SubtaskStatus', 'completed', message.completed)),
        open=tuple(checked_names('SubtaskStatus', 'open', message.open)),
        blocked=tuple(checked_names('SubtaskStatus', 'blocked', message.blocked)),
    )
