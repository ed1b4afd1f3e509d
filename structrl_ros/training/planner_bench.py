"""Does GRPO by REVER's reward teach a planner? A tiny Qwen2.5-VL, from random weights to a table.

One seed: a model is made (its tokenizer from the training split alone), imitates the true plans
of half of the tasks, then practises by GRPO with a LoRA adapter. A fifth of the tasks is held out
from both and measured before, on the way and after. The seed draws weights, halves, order and
answers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import time
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.models.vlm.questions import read_prompt
from structrl_ros.models.vlm.tiny_vlm import save_tiny_vlm
from structrl_ros.models.whole_files import whole_file
from structrl_ros.training.leap_rows import LeapRow
from structrl_ros.training.leap_set import read_split
from structrl_ros.training.leap_set import split_path
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.metrics_log import read_metrics
from structrl_ros.training.planner_grades import grade_questions
from structrl_ros.training.planner_grades import plan_names
from structrl_ros.training.planner_questions import true_answer
from structrl_ros.training.planner_settings import PlannerGrpoSettings
from structrl_ros.training.planner_settings import PlannerSettings
from structrl_ros.training.planner_settings import PlannerSftSettings
from structrl_ros.training.planner_tasks import split_tasks
from structrl_ros.training.planner_trainer import PlannerTraining

RESULT = 'result.json'

#: Every linear module of the language part but the last.
LINEAR = ('q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj')

#: What both stages of the bench have.
_SHARED: dict[str, Any] = {
    'kinds': ('plan',),
    'prompt': 'plan_brief_v1',
    'held_out': 0.2,
    'image_pixels': 84 * 84,
    'max_tokens': 72,
    'device': 'cpu',
    'checkpoint_every': 1000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchPlan:
    """How much is done for one seed.

    Attributes:
        width: Of the language part.
        layers: Of the language part.
        vocabulary: Most tokens.
        sft: Settings of imitation beyond the shared ones.
        grpo: Settings of practice beyond the shared ones.
    """

    width: int = 96
    layers: int = 3
    vocabulary: int = 640
    sft: Mapping[str, Any] = field(
        default_factory=lambda: {
            'weights': 'all',
            'part': 'first',
            'rows': 16,
            'updates': 240,
            'warmup': 20,
            'learning_rate': 2e-3,
        }
    )
    grpo: Mapping[str, Any] = field(
        default_factory=lambda: {
            'part': 'all',
            'rows': 128,
            'accumulation': 1,
            'updates': 150,
            'warmup': 3,
            'learning_rate': 3e-3,
            'temperature': 1.0,
            'lora_rank': 32,
            'lora_alpha': 32.0,
            'lora_targets': LINEAR,
            'lora_whole': ('norm',),
            'evaluate_every': 30,
        }
    )


#: To see that it runs; it is too short to claim anything.
QUICK = BenchPlan(
    width=64,
    layers=2,
    sft={**BenchPlan().sft, 'updates': 4},
    grpo={**BenchPlan().grpo, 'rows': 16, 'updates': 2},
)


def run_seed(
    folder: Path,
    leap: Path,
    seed: int,
    plan: BenchPlan,
    report: Callable[[str, int, Mapping[str, float | None]], None] = lambda *_: None,
) -> dict[str, Any]:
    """Return the numbers of one seed; one that is there already is not run again.

    Args:
        folder: Of the seed; a run that was cut begins anew.
        leap: Set of `structrl data leap`.
        seed: Of everything drawn.
        plan: How much is done.
        report: Called with the stage, after each update.

    Raises:
        DatasetError: If there is no training split.
        ParameterError: If the folder has the result of another set or plan.
    """
    rows = read_split(leap, 'train', ('plan',))
    result = folder / RESULT
    about = _about(leap, seed, plan)
    if result.is_file():
        document = json.loads(result.read_text(encoding='utf-8'))
        if {key: document.get(key) for key in about} != about:
            raise ParameterError(f'{folder}: of another set or plan; allowed: a new --out')
        return dict(document)
    shutil.rmtree(folder, ignore_errors=True)
    begun = time.process_time()
    base = folder / 'base'
    save_tiny_vlm(
        base,
        seed=seed,
        sentences=corpus(rows),
        width=plan.width,
        layers=plan.layers,
        vocabulary=plan.vocabulary,
    )
    shared = {**_SHARED, 'seed': seed, 'split_seed': seed}
    sft = PlannerSftSettings(base=str(base), **shared, **plan.sft)
    start = _train(folder / 'sft', rows, sft, report)
    spent = {'sft': time.process_time() - begun}
    grpo = PlannerGrpoSettings(base=str(start), **shared, **plan.grpo)
    grades = _practise(folder / 'grpo', rows, grpo, report)
    spent['grpo'] = time.process_time() - begun - spent['sft']
    document = {
        **about,
        'cpu_s': {name: round(value, 1) for name, value in spent.items()},
        'questions': {name: len(found) for name, found in _counts(rows, sft, grpo).items()},
        'curve': _curve(folder / 'grpo'),
        'grades': grades,
        'practice': _practice(folder / 'grpo'),
    }
    with whole_file(result) as new:
        new.write_text(json.dumps(document, indent=1) + '\n', encoding='utf-8')
    return document


def _about(leap: Path, seed: int, plan: BenchPlan) -> dict[str, Any]:
    """Return what the numbers of a seed depend on."""
    return {
        'seed': seed,
        'set_sha256': hashlib.sha256(split_path(leap, 'train').read_bytes()).hexdigest(),
        'plan': json.loads(json.dumps({**_SHARED, **dataclasses.asdict(plan)})),
    }


def corpus(rows: list[LeapRow]) -> list[str]:
    """Return what the tokenizer of the tiny model is trained on: the training split alone."""
    prompt = str(_SHARED['prompt'])
    texts = [read_prompt(prompt), 'Instruction: In the scene: True False system user assistant']
    for row in rows:
        texts += [row.instruction, ', '.join(row.objects), true_answer(row, prompt)]
    return texts


def _train(
    folder: Path,
    rows: list[LeapRow],
    settings: PlannerSettings,
    report: Callable[[str, int, Mapping[str, float | None]], None],
) -> Path:
    """Carry out one stage, and return the folder of its weights."""
    folder.mkdir(parents=True)
    tell = partial(report, folder.name)
    return PlannerTraining(settings, split_tasks(rows, settings), folder, tell).run()


def _practise(
    folder: Path,
    rows: list[LeapRow],
    settings: PlannerGrpoSettings,
    report: Callable[[str, int, Mapping[str, float | None]], None],
) -> dict[str, Any]:
    """Carry out GRPO, and return what each held-out question earned before it and after."""
    folder.mkdir(parents=True)
    split = split_tasks(rows, settings)
    training = PlannerTraining(settings, split, folder, partial(report, folder.name))
    model, processor, held_out = training.model, training.vlm.processor, split.held_out
    before = grade_questions(model, processor, held_out, settings)
    training.run()
    after = grade_questions(model, processor, held_out, settings)
    return {'plans': plan_names(held_out), 'before': before, 'after': after}


def _counts(
    rows: list[LeapRow], sft: PlannerSettings, grpo: PlannerSettings
) -> dict[str, tuple[LeapRow, ...]]:
    imitated, practised = split_tasks(rows, sft), split_tasks(rows, grpo)
    return {
        'imitated': imitated.training,
        'practised': practised.training,
        'held_out': practised.held_out,
    }


def _curve(run: Path) -> list[Metrics]:
    """Return the measurements on held-out tasks, with their updates."""
    lines = read_metrics(run / 'metrics.jsonl')
    return [
        {'update': line['update'], **_part(line, 'held_out/')}
        for line in lines
        if 'held_out/reward' in line
    ]


def _practice(run: Path) -> list[float]:
    """Return the mean reward of the answers of each update."""
    lines = read_metrics(run / 'metrics.jsonl')
    return [round(line['planner/reward'], 4) for line in lines if 'planner/reward' in line]


def _part(line: Mapping[str, Any], prefix: str) -> Metrics:
    return {
        name.removeprefix(prefix): value for name, value in line.items() if name.startswith(prefix)
    }
