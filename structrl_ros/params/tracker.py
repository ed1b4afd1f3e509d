"""Parameters of tracker_node."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter
from structrl_ros.sim.decompositions import PLAN_VARIANT
from structrl_ros.sim.decompositions import shipped_durations
from structrl_ros.subtasks.paid_task import PACINGS
from structrl_ros.subtasks.paid_task import TRUTH_SOURCES
from structrl_ros.subtasks.tracker import TrackerSettings

#: Word of `durations_variant` for a task's own decomposition: a parameter is hard to give empty.
OWN_VARIANT = 'own'

_PAID = TrackerSettings()


@dataclass(frozen=True, kw_only=True)
class TrackerParameters:
    """What tracker_node pays, and what a chunk waits for; defaults of StructRL Section 4.1."""

    lockstep: bool = parameter(
        False, description='A chunk is paid once the verdict with its stamp is there, too.'
    )
    truth_source: str = parameter(
        _PAID.truth_source,
        description='What tells that a subtask is done: the body, or the monitor.',
        choices=TRUTH_SOURCES,
    )
    beta: float = parameter(
        _PAID.beta, description='Largest payment for one subtask.', bounds=(0.0, 1000.0)
    )
    lambda_c: float = parameter(
        _PAID.lambda_c, description='Terminal reward, paid once at success.', bounds=(0.0, 1000.0)
    )
    gating: bool = parameter(
        _PAID.gating, description='Pay a subtask only after every subtask of the earlier stages.'
    )
    pacing: str = parameter(
        _PAID.pacing,
        description='auto: by demonstrations if all durations are known, else uniform.',
        choices=PACINGS,
    )
    cap: float = parameter(
        0.0,
        description='Largest sum of intermediate payments of a task; 0 = no cap.',
        bounds=(0.0, 1000.0),
    )
    horizon_chunks: float = parameter(
        _PAID.horizon_chunks,
        description='Length of an episode in chunks, for uniform pacing.',
        bounds=(1.0, 1_000_000.0),
    )
    durations_body: str = parameter(
        '', description='Body whose shipped decompositions give the durations; empty: none.'
    )
    durations_variant: str = parameter(
        PLAN_VARIANT,
        description='Which decompositions of durations_body: plan (the steps of the planner), '
        'own (what a trainer pays by), density_5 and the like.',
    )
    chunk_steps: int = parameter(
        8,
        description='Low-level steps that a chunk runs, for the durations of durations_body.',
        bounds=(1, 200),
    )
    durations_file: str = parameter(
        '',
        description='JSON object: predicate, or task/predicate, to duration in chunks; it comes '
        'before durations_body.',
    )

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        check_parameters(self)

    def settings(self) -> TrackerSettings:
        """Return the settings of the tracker, with the durations of body and file.

        Raises:
            ParameterError: If a file cannot be read or holds something else.
        """
        durations: dict[str, float] = {}
        if self.durations_body:
            variant = '' if self.durations_variant == OWN_VARIANT else self.durations_variant
            durations |= shipped_durations(self.durations_body, self.chunk_steps, variant)
        if self.durations_file:
            durations |= _read_durations(self.durations_file)
        return TrackerSettings(
            beta=self.beta,
            lambda_c=self.lambda_c,
            gating=self.gating,
            pacing=self.pacing,
            cap=self.cap or None,
            durations=durations,
            horizon_chunks=self.horizon_chunks,
            truth_source=self.truth_source,
            lockstep=self.lockstep,
        )


def _read_durations(file: str) -> dict[str, float]:
    try:
        document = json.loads(Path(file).expanduser().read_text(encoding='utf-8'))
    except OSError as error:
        raise ParameterError(f'durations_file {file}: {error.strerror}') from None
    except ValueError as error:
        reason = ' '.join(str(error).split())
        raise ParameterError(f'durations_file {file} is no JSON: {reason}') from None
    if not isinstance(document, dict):
        raise ParameterError(f'durations_file {file}: allowed: an object of name to chunks')
    for name, value in document.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not (math.isfinite(value) and value > 0):
            raise ParameterError(
                f'durations_file {file}: {name} is {value!r}; allowed: chunks above 0'
            )
    return {name: float(value) for name, value in document.items()}
