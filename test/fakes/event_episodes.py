"""Rollouts of the corpus of failure events, without a simulator: one colour a frame."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.events.watcher import STATE_NAMES
from structrl_ros.training.event_episode import EventEpisode
from structrl_ros.training.leap_episode import picture_file

CHUNKS = 8


def event_episode(number: int = 0, **changes: object) -> EventEpisode:
    """Return a failed rollout of eight chunks; `changes` are fields of it."""
    states = np.zeros((CHUNKS + 1, len(STATE_NAMES)))
    files = [
        picture_file(np.full((28, 28, 3), 20 * (number + place) % 256, dtype=np.uint8), 'png')
        for place in range(3)
    ]
    interval = (1 + number % CHUNKS,) * 2
    fields: dict[str, object] = {
        'id': f'apple_in_bowl-{number}',
        'split': 'train',
        'task': 'apple_in_bowl',
        'instruction': 'pick up the apple',
        'policy': 'p',
        'calibration_offset': 0.0,
        'seed': number,
        'initial_state': 0,
        'steps': (5,) * CHUNKS,
        'success': False,
        'outcome': 'failure',
        'error_type': 'dropped',
        'recovery': 'not_observed',
        'reason': 'it fell',
        'interval': interval,
        'first_interval': (1, 1),
        'evidence': (0, 4),
        'states': tuple(map(tuple, states.tolist())),
        'simulator_states': ((0.0,),) * (CHUNKS + 1),
        'roles': ('head',),
        'frame_chunks': (0, 4, 8),
        'images': tuple(files),
    }
    return EventEpisode(**{**fields, **changes})  # type: ignore[arg-type]
