"""Why an episode failed: a taxonomy, and the pure function that puts an episode in it.

    cause          when
    policy_error   the policy gave no chunk, or numbers that are none
    safety_stop    the body was stopped (a latched stop), by its watchdog or by a person
    body_error     the body failed or was reset in the middle
    cancelled      somebody ended the episode
    no_plan        the sentence did not become a plan
    dropped        a thing was grasped, let go before its subtask was done, and never again held
    never_grasped  the first subtask that was not done names a thing that was never grasped
    not_done       a subtask was not done, for none of these reasons
    not_judged     every subtask was done, and the judge of success says no
    gave_up        the planner gave up, and the body tells no subtasks
    horizon        time was up, and the body tells no subtasks

The first that holds is the cause. Hard ends come first: what was missing then says little of the
policy. How the episode ended (`end`) is kept beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

CAUSES = (
    'policy_error',
    'safety_stop',
    'body_error',
    'cancelled',
    'no_plan',
    'dropped',
    'never_grasped',
    'not_done',
    'not_judged',
    'gave_up',
    'horizon',
)

#: How an episode can end.
ENDS = (
    'success',
    'horizon',
    'gave_up',
    'no_plan',
    'safety_stop',
    'policy_error',
    'body_error',
    'cancelled',
)
#: Ends that are the cause of a failure, whatever was done before.
_HARD = ('policy_error', 'safety_stop', 'body_error', 'cancelled', 'no_plan')
_CALL = re.compile(r'^\s*(\w+)\s*\(([^()]*)\)')
_GRASPING = ('grasp', 'grasped', 'pick', 'hold')


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureEvidence:
    """What a run knows of an episode.

    Attributes:
        success: By the rule of the protocol.
        end: How it ended, one of `ENDS`.
        subtasks: Names, such as `in(apple_1, bowl_1)`, in order, and whether each was done.
        truth: Names true in each chunk; empty where the body publishes none.
        tells_grasps: Whether the body publishes grasps.
        predicates: Subtask to the body's name of the same, where they are called otherwise:
            `place(apple, bowl)` to `in(apple_1, bowl_1)`.
    """

    success: bool
    end: str
    subtasks: Sequence[tuple[str, bool]] = ()
    truth: Sequence[frozenset[str]] = ()
    tells_grasps: bool = False
    predicates: Mapping[str, str] = field(default_factory=dict)


def failure_cause(evidence: FailureEvidence) -> tuple[str, str]:
    """Return the cause of a failure, one of `CAUSES`, and what it is about ('' if nothing).

    A success has no cause: ('', '').
    """
    if evidence.success:
        return '', ''
    if evidence.end in _HARD:
        return evidence.end, ''
    missing = [(k, name) for k, (name, done) in enumerate(evidence.subtasks, 1) if not done]
    if not missing:
        if evidence.subtasks or evidence.end == 'success':
            return 'not_judged', ''
        return evidence.end if evidence.end in CAUSES else 'horizon', ''
    number, name = missing[0]
    cause = _by_grasp(name, evidence) if evidence.tells_grasps else ''
    if cause:
        return cause, thing_of(name)
    return 'not_done', f'{number} of {len(evidence.subtasks)}: {name}'


def _by_grasp(name: str, evidence: FailureEvidence) -> str:
    """Return what became of the thing of a subtask that was not done; '' says nothing."""
    is_grasp = _verb(name) in _GRASPING
    if not is_grasp and not _is_moved(name):
        return ''
    thing = thing_of(evidence.predicates.get(name, name))
    held = [thing in _grasped(truth) for truth in evidence.truth]
    if not any(held):
        return 'never_grasped'
    return '' if held[-1] or is_grasp else 'dropped'


def thing_of(name: str) -> str:
    """Return the first argument of `verb(thing, ...)`, '' where it has another form."""
    match = _CALL.match(name)
    return match.group(2).split(',')[0].strip() if match else ''


def tells_grasps(names: Sequence[str]) -> bool:
    """Return whether a body that publishes these names says what is grasped."""
    return any(_verb(name) in _GRASPING for name in names)


def _verb(name: str) -> str:
    match = _CALL.match(name)
    return match.group(1).lower() if match else ''


def _is_moved(name: str) -> bool:
    """Whether a subtask puts one thing in, on or beside another."""
    match = _CALL.match(name)
    return match is not None and ',' in match.group(2)


def _grasped(truth: frozenset[str]) -> set[str]:
    return {thing_of(name) for name in truth if _verb(name) in _GRASPING}
