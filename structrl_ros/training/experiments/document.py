"""Results of experiments as one JSON document: the report is made from it alone."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from structrl_ros.evaluation.comparison import mean_estimate
from structrl_ros.models.whole_files import whole_file
from structrl_ros.training.experiments.outcomes import MEASURES
from structrl_ros.training.experiments.outcomes import OF_PRACTICE
from structrl_ros.training.experiments.outcomes import Outcome
from structrl_ros.training.experiments.outcomes import Outcomes
from structrl_ros.training.experiments.outcomes import needed_cells
from structrl_ros.training.experiments.plan import Arm
from structrl_ros.training.experiments.plan import Experiment
from structrl_ros.training.experiments.starting import measured_start
from structrl_ros.types import JsonObject

_PACKAGES = ('structrl_ros', 'numpy', 'torch', 'scipy', 'mujoco')


def results_document(
    experiments: Sequence[Experiment],
    found: Mapping[str, Outcome],
    starts: Sequence[Path],
    *,
    command: str,
) -> JsonObject:
    """Return all numbers of some experiments.

    Args:
        experiments: In order.
        found: Outcomes by the key of the cell.
        starts: Folders of the start policies.
        command: What was typed.
    """
    cells = needed_cells(experiments)
    return {
        'format': 1,
        'command': command,
        'python': platform.python_version(),
        'packages': {name: version(name) for name in _PACKAGES},
        'runs': len(cells),
        'cpu_s': sum(found[key].cpu_s for key in cells),
        'starts': [_start(path) for path in starts],
        'experiments': [_experiment(e, Outcomes(e, found)) for e in experiments],
    }


def write_document(path: Path, document: JsonObject) -> None:
    """Write JSON, whole or not at all.

    Raises:
        CheckpointError: If it cannot be written.
    """
    with whole_file(path) as place:
        text = json.dumps(document, indent=1, allow_nan=False, ensure_ascii=False)
        place.write_text(f'{text}\n', encoding='utf-8')


def _start(path: Path) -> JsonObject:
    known = measured_start(path)
    return {'name': known['recipe']['name'], **known}


def _experiment(experiment: Experiment, outcomes: Outcomes) -> JsonObject:
    verdict = experiment.judge(outcomes)
    return {
        'name': experiment.name,
        'title': experiment.title,
        'question': experiment.question,
        'note': experiment.note,
        'measures': {name: MEASURES[name] for name in experiment.measures},
        'verdict': {'state': verdict.state, 'claims': [asdict(c) for c in verdict.claims]},
        'arms': [_arm(arm, outcomes.of(arm.name), experiment) for arm in experiment.arms],
    }


def _arm(arm: Arm, found: Sequence[Outcome], experiment: Experiment) -> JsonObject:
    measures = {}
    for name in experiment.measures:
        if name in OF_PRACTICE and not arm.trainer:
            continue
        values = [outcome.measure(name) for outcome in found]
        estimate = mean_estimate(values)
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        measures[name] = {'values': values, **asdict(estimate), 'deviation': spread}
    episodes = sum(outcome.episodes for outcome in found)
    names = found[0].subtasks
    return {
        'name': arm.name,
        'trainer': arm.trainer,
        'reward': arm.reward,
        'start': arm.start.name,
        'world': dict(arm.world),
        'settings': dict(arm.settings),
        'evaluation': asdict(arm.evaluation),
        'seeds': len(found),
        'episodes': [outcome.episodes for outcome in found],
        'successes': [outcome.successes for outcome in found],
        'measures': measures,
        'subtasks': {n: sum(o.subtasks[n] for o in found) / episodes for n in names},
        'curve': _mean_curve([outcome.curve.get('success', ()) for outcome in found]),
        'cpu_s': sum(outcome.cpu_s for outcome in found),
    }


def _mean_curve(curves: Sequence[Sequence[float | None]]) -> list[float]:
    """Return the mean over seeds of success in training, one number an iteration."""
    length = min(map(len, curves))
    rows: list[list[Any]] = [list(curve[:length]) for curve in curves]
    return [float(v) for v in np.array(rows, dtype=np.float64).mean(axis=0)] if length else []
