"""What grm_node tells of each step on /diagnostics, so that a recording can be asked again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field

from structrl_ros.recording.run_events import RunEvents

#: End of the name of the status, and its keys.
STATUS = 'grm_node: step'
RAN_WITH = 'ran_with'
LOOKED_AT = 'looked_at'


@dataclass(frozen=True, slots=True, kw_only=True)
class RanWith:
    """What the model was.

    Attributes:
        model: Its name or folder, as it was given.
        model_digest: Of its weights and architecture.
        goal: As it was given, '' for none.
        goal_digest: Of the pixels.
        roles: Cameras.
        gamma: Discount of the shaping term.
        threads: Of torch.
        device: Of a vision-language model.
    """

    model: str
    model_digest: str
    goal: str
    goal_digest: str
    roles: tuple[str, ...]
    gamma: float
    threads: int
    device: str = 'auto'


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedAt:
    """What a step looked at.

    Attributes:
        episode: Its number.
        step: As in `Progress`.
        stamp_ns: As in `Progress`.
        instruction: Of the episode.
        start: Stamp of each picture of the start frame, by role; none where it was not seen.
        pictures: Stamp of each picture of the step.
        terminated: Whether the episode ended here in a terminal state.
    """

    episode: int
    step: int
    stamp_ns: int
    instruction: str
    start: Mapping[str, int] = field(default_factory=dict)
    pictures: Mapping[str, int] = field(default_factory=dict)
    terminated: bool = False


def told_values(ran_with: RanWith, looked_at: LookedAt) -> dict[str, str]:
    """Return the values of the status of a step."""
    return {RAN_WITH: _text(ran_with), LOOKED_AT: _text(looked_at)}


def told_steps(events: RunEvents) -> list[tuple[RanWith, LookedAt]]:
    """Return what was told, in order of arrival; what cannot be read is left out."""
    found = []
    for diagnostic in events.diagnostics:
        if not diagnostic.name.endswith(STATUS):
            continue
        try:
            ran_with = RanWith(**json.loads(diagnostic.values[RAN_WITH]))
            looked_at = LookedAt(**json.loads(diagnostic.values[LOOKED_AT]))
        except (KeyError, ValueError, TypeError):
            continue
        roles = tuple(ran_with.roles)
        found.append((dataclasses.replace(ran_with, roles=roles), looked_at))
    return found


def _text(value: RanWith | LookedAt) -> str:
    return json.dumps(dataclasses.asdict(value), separators=(',', ':'), sort_keys=True)
