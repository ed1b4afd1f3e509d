"""The tracker's settings as one line of text, so that a recording can say what it was paid by."""

from __future__ import annotations

import dataclasses
import json

from structrl_ros.errors import ParameterError
from structrl_ros.subtasks.paid_task import TrackerSettings

#: Key under which tracker_node puts the line on /diagnostics.
SETTINGS_KEY = 'settings'


def settings_to_text(settings: TrackerSettings, task: str | None = None) -> str:
    """Return the settings as JSON.

    Args:
        settings: What the tracker runs with.
        task: Keep only the durations that can matter for this task; None keeps all.
    """
    values = {f.name: getattr(settings, f.name) for f in dataclasses.fields(settings)}
    values['durations'] = {
        name: duration
        for name, duration in settings.durations.items()
        if task is None or '/' not in name or name.startswith(f'{task}/')
    }
    return json.dumps(values, separators=(',', ':'), sort_keys=True)


def settings_from_text(text: str) -> TrackerSettings:
    """Return the settings of a line of `settings_to_text`, equal to the last bit.

    Raises:
        ParameterError: If it is no such line.
    """
    try:
        return TrackerSettings(**json.loads(text))
    except (TypeError, ValueError) as error:
        raise ParameterError(f'no settings of a tracker: {error}') from error
