"""The VOC benchmark of several progress models on the same trajectories, and its result file."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.grm_paired import ArmDifference
from structrl_ros.evaluation.grm_scores import ModelResult
from structrl_ros.evaluation.grm_scores import summarise_scores
from structrl_ros.training.voc_curves import COMPLETED_ESTIMATE
from structrl_ros.training.voc_curves import COMPLETED_TRUTH
from structrl_ros.training.voc_curves import JUDGED_AT
from structrl_ros.training.voc_curves import Context
from structrl_ros.training.voc_curves import score
from structrl_ros.training.voc_curves import trace
from structrl_ros.training.voc_models import find_model
from structrl_ros.training.voc_sets import VocSets
from structrl_ros.training.voc_trajectories import read_trajectories

VERSION = 1
RESULT = 'grm_benchmark.json'


@dataclass(frozen=True, slots=True)
class Contender:
    """A model of the benchmark: the arm it belongs to, and what names it."""

    arm: str
    word: str


def read_contender(text: str) -> Contender:
    """Return the model of 'WORD', an arm of its own, or of 'ARM=WORD'.

    Raises:
        ParameterError: If a side of '=' is empty.
    """
    arm, equals, word = text.partition('=')
    if not arm or (equals and not word):
        raise ParameterError(f'model {text!r}; allowed: WHAT or ARM=WHAT')
    return Contender(arm, word if equals else arm)


def run_model(
    contender: Contender,
    sets: VocSets,
    *,
    context: Context = 'online',
    seed: int = 0,
    on_trajectory: Callable[[], None] = lambda: None,
) -> ModelResult:
    """Show every trajectory to a model, and return what it made of them.

    Raises:
        CheckpointError: If a checkpoint or a set cannot be read.
        ParameterError: If there is nothing to show.
    """
    model = find_model(contender.word)
    scores = []
    for trajectory in read_trajectories(sets, model.view_px):
        curve = None
        if not trajectory.fault:
            curve = trace(
                trajectory,
                model.about(trajectory),
                model.layout,
                context=context,
                hides_panels=model.hides_panels,
            )
        scores.append(score(trajectory, curve))
        on_trajectory()
    return ModelResult(
        arm=contender.arm,
        model=contender.word,
        input=model.input,
        summary=summarise_scores(scores, seed=seed),
        scores=tuple(scores),
    )


def write_result(
    path: Path,
    sets: VocSets,
    context: Context,
    results: Sequence[ModelResult],
    differences: Sequence[ArmDifference],
) -> None:
    """Write everything that was measured, with what it was measured on.

    Raises:
        ParameterError: If the file cannot be written.
    """
    document = {
        'version': VERSION,
        'sets': [str(folder) for folder in sets.folders],
        'split': sets.split,
        'every': sets.every,
        'limit': sets.limit,
        'context': context,
        'completion': {
            'estimate_from': COMPLETED_ESTIMATE,
            'truth_from': COMPLETED_TRUTH,
            'judged_at': list(JUDGED_AT),
        },
        'models': [result.to_json() for result in results],
        'differences': [difference.to_json() for difference in differences],
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=1, allow_nan=False) + '\n', 'utf-8')
    except OSError as error:
        raise ParameterError(f'cannot write {path}: {error.strerror}') from None
