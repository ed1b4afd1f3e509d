"""Parts of the page's document, from what was heard: plain dictionaries for JSON."""

from __future__ import annotations

from typing import Any

from structrl_ros.types import ActionChunk
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import Progress
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

#: What a chunk's source is called for people.
_SOURCES = {'policy': 'policy', 'expert': 'scripted expert', 'teleop': 'operator'}


def episode_page(episode: Episode) -> dict[str, Any]:
    """Return the episode and how it ended."""
    return {
        'number': episode.episode,
        'ended': episode.ended,
        'body': episode.body,
        'task': episode.task,
        'instruction': episode.instruction,
        'seed': episode.seed,
        'initial_state': episode.initial_state,
        'success': episode.success,
        'reason': episode.end_reason,
    }


def plan_page(plan: Plan, status: SubtaskStatus | None) -> dict[str, Any]:
    """Return the plan with the state of each subtask: done, current, blocked or open."""
    told = status if status is not None and status.revision == plan.revision else None

    def state(name: str) -> str:
        if told is None:
            return 'open'
        if name in told.completed:
            return 'done'
        if name == told.current:
            return 'current'
        return 'blocked' if name in told.blocked else 'open'

    return {
        'revision': plan.revision,
        'instruction': plan.instruction,
        'planner': plan.planner,
        'reasoning': plan.reasoning,
        'subtasks': [
            {'id': s.id, 'phrase': s.phrase, 'stage': s.stage, 'state': state(s.id)}
            for s in plan.subtasks
        ],
    }


def safety_page(safety: Safety) -> dict[str, Any]:
    """Return the safety state; latched means that only a person ends it."""
    return {
        'state': safety.state.name.lower(),
        'reason': safety.reason,
        'latched': safety.state.is_latched,
    }


def verdict_page(verdict: Verdict) -> dict[str, Any]:
    """Return a monitor's answer."""
    return {
        'subtask': verdict.subtask_id,
        'revision': verdict.revision,
        'done': verdict.done,
        'stop': verdict.stop,
        'confidence': verdict.confidence,
        'latency_s': verdict.latency,
        'monitor': verdict.monitor,
    }


def control_page(
    safety: Safety | None, takeover: Intervention | None, chunk: ActionChunk | None
) -> dict[str, Any]:
    """Return who moves the body: nobody, an operator, or where the last chunk came from."""
    is_taken_over = takeover is not None and takeover.active
    if safety is not None and safety.state.is_latched:
        who, text = 'nobody', 'stopped'
    elif is_taken_over and takeover is not None:
        who, text = 'operator', takeover.device or 'a device without a name'
    elif safety is not None and safety.state is SafetyState.HOLD:
        who, text = 'nobody', 'holding position'
    elif chunk is None:
        who, text = 'nobody', 'no chunk was heard'
    else:
        who, text = _SOURCES.get(chunk.source, chunk.source), f'chunk {chunk.chunk}'
    return {'who': who, 'text': text, 'takeover': is_taken_over}


def log_entry(event: Any, zero_ns: int) -> tuple[str, dict[str, Any]]:
    """Return the log that an event belongs to ('' for none) and its entry.

    Times are seconds since `zero_ns`, the start of the episode. Of verdicts those alone are kept
    that decide something: the others come five times a second.
    """
    at_s = (event.stamp_ns - zero_ns) / 1e9
    if isinstance(event, Reward):
        terms = [[name, value] for name, value in event.terms if value]
        total = event.episode_return
        return 'rewards', {'t': at_s, 'value': event.value, 'total': total, 'terms': terms}
    if isinstance(event, Progress) and event.valid:
        return 'potentials', {'t': at_s, 'value': event.potential}
    if isinstance(event, Verdict) and (event.done or event.stop):
        return 'verdicts', {'t': at_s, **verdict_page(event)}
    return '', {}
