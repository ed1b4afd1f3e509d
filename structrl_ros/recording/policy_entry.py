"""What a policy says of itself on /diagnostics, written by policy_node and read from a bag."""

from __future__ import annotations

import json

from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_record import PolicyEntry
from structrl_ros.types import MeasuredRate
from structrl_ros.types import PolicySpec

#: Keys of policy_node's status.
NAME = 'policy'
TRAINED_BY = 'trained_by'
MEASURED = 'measured'


def policy_values(spec: PolicySpec) -> dict[str, str]:
    """Return what policy_node adds to its status."""
    rates = [[r.label, r.successes, r.episodes] for r in spec.measured]
    return {NAME: spec.name, TRAINED_BY: spec.trained_by, MEASURED: json.dumps(rates)}


def policy_entry(events: RunEvents) -> PolicyEntry | None:
    """Return what the policy of an episode said last, None if it said nothing readable."""
    for diagnostic in reversed(events.diagnostics):
        values = diagnostic.values
        try:
            rates = json.loads(values[MEASURED])
            measured = tuple(MeasuredRate(str(a), int(b), int(c)) for a, b, c in rates)
            return PolicyEntry(values[NAME], values[TRAINED_BY], measured)
        except (KeyError, ValueError, TypeError):
            continue
    return None
