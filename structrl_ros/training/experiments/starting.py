"""Start policies of experiments: imitated once, kept in a folder, and gone on with if stopped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.whole_files import whole_file
from structrl_ros.sim.twin.demonstrations import demonstrations
from structrl_ros.training.body_worlds import make_demonstrator
from structrl_ros.training.body_worlds import world_maker
from structrl_ros.training.collector import MakeWorld
from structrl_ros.training.demonstrations import Demonstrations
from structrl_ros.training.evaluate import evaluate_policy
from structrl_ros.training.experiments.plan import StartRecipe
from structrl_ros.training.practice import Report
from structrl_ros.training.run_directory import create_run
from structrl_ros.training.run_directory import open_run
from structrl_ros.training.settings import SftSettings
from structrl_ros.training.sft import Imitation
from structrl_ros.training.sft import train_sft
from structrl_ros.training.start_policy import fresh_policy
from structrl_ros.types import JsonObject

#: Written last: the start is whole, and this is how well it does.
MEASURED = 'start.json'
#: Seed of the scenes that a start is measured in.
_EVALUATION_SEED = 77


def prepare_start(
    recipe: StartRecipe,
    folder: Path,
    *,
    episodes: int,
    workers: int = 1,
    report: Report | None = None,
) -> Path:
    """Return the run directory of a start, trained if it is not there yet.

    Args:
        recipe: What is wanted.
        folder: Where starts are kept.
        episodes: Of the evaluation, with and without the noise of training.
        workers: Processes that step bodies in the evaluation.
        report: Is called at each line of the log.

    Raises:
        ParameterError: If the recipe is wrong.
        TrainingError: If a number is not finite, or the expert fails.
        CheckpointError: If the folder cannot be written or read.
    """
    path = folder / recipe.folder
    if (path / MEASURED).is_file():
        return path
    torch.set_num_threads(1)
    settings = SftSettings.model_validate({**recipe.settings, 'tasks': (recipe.task,)})
    make_world = world_maker(
        recipe.body, environments=min(64, episodes), workers=workers, options=recipe.world
    )
    policy = _imitated(recipe, path, settings, make_world, report)

    def evaluate(explore: bool) -> JsonObject:
        return evaluate_policy(
            policy,
            make_world,
            settings.tasks,
            episodes=episodes,
            seed=_EVALUATION_SEED,
            explore=explore,
        ).to_json()

    document = {
        'recipe': asdict(recipe),
        'evaluation': {'ode': evaluate(False), 'sde': evaluate(True)},
    }
    with whole_file(path / MEASURED) as place:
        place.write_text(f'{json.dumps(document, indent=2)}\n', encoding='utf-8')
    return path


def _imitated(
    recipe: StartRecipe,
    path: Path,
    settings: SftSettings,
    make_world: MakeWorld,
    report: Report | None,
) -> ChunkPolicy:
    """Return the policy of a start, imitated in its run directory, which may have begun."""
    has_begun = path.is_dir() and any(path.iterdir())
    run = open_run(path) if has_begun else create_run(path, asdict(recipe))
    try:
        world = make_world()
        world.close()
        policy = (
            run.load_policy()
            if run.has_checkpoint
            else fresh_policy(recipe.policy, world.spec, settings.seed)
        )
        imitation = Imitation(
            demonstrator=make_demonstrator(recipe.body, settings.tasks, options=recipe.world),
            demonstrations=_shortcuts(recipe, settings) if recipe.shortcut else None,
            run=run,
            report=report,
            title=f'sft on {recipe.body}: {recipe.task}',
        )
        train_sft(policy, settings, imitation)
    finally:
        run.close()
    return policy


def measured_start(path: Path) -> Mapping[str, Any]:
    """Return what is known of a start that is whole.

    Raises:
        CheckpointError: If its file cannot be read.
    """
    try:
        found: dict[str, Any] = json.loads((path / MEASURED).read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        raise CheckpointError(f'{path / MEASURED} cannot be read: {error}') from None
    return found


def _shortcuts(recipe: StartRecipe, settings: SftSettings) -> Demonstrations:
    """Return demonstrations some of which shut at once what they have opened.

    Raises:
        ParameterError: If the body is not the twin.
    """
    if recipe.body != 'twin':
        raise ParameterError(f'shortcut: body {recipe.body!r} shows none; allowed: twin')
    shown = demonstrations(
        recipe.task,
        settings.demonstrations,
        settings.seed,
        perturbed=settings.perturbed,
        perturbation=settings.perturbation,
        shortcut=recipe.shortcut,
    )
    arrays: dict[str, Any] = {f.name: getattr(shown, f.name) for f in fields(shown)}
    return Demonstrations(**arrays)
