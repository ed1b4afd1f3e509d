"""One cell: practise from the start by the arm's settings, then measure what came out."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from structrl_ros.errors import CheckpointError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.whole_files import whole_file
from structrl_ros.sim.decompositions import shipped_decomposition
from structrl_ros.training.body_worlds import world_maker
from structrl_ros.training.collector import EVALUATION
from structrl_ros.training.collector import Collector
from structrl_ros.training.collector import MakeWorld
from structrl_ros.training.experiments.outcomes import Outcome
from structrl_ros.training.experiments.outcomes import outcome_from_json
from structrl_ros.training.experiments.outcomes import outcome_of
from structrl_ros.training.experiments.plan import Cell
from structrl_ros.training.metrics_log import SECONDS
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.reward_source import RewardSource
from structrl_ros.training.rollouts import Rollouts
from structrl_ros.training.run_directory import RunDirectory
from structrl_ros.training.run_directory import create_run
from structrl_ros.training.run_directory import open_run
from structrl_ros.training.run_request import TRAINERS
from structrl_ros.training.run_request import RunRequest
from structrl_ros.training.run_request import request_of_document
from structrl_ros.training.run_trainer import PreparedRun
from structrl_ros.training.run_trainer import carry_out
from structrl_ros.training.run_trainer import prepare_run
from structrl_ros.training.settings import GrpoSettings
from structrl_ros.training.settings import PracticeSettings
from structrl_ros.training.settings_document import make_settings
from structrl_ros.training.shaped_rewards import ShapedRewards
from structrl_ros.training.shipped_rewards import make_reward
from structrl_ros.training.start_policy import load_start
from structrl_ros.training.starts import evaluation_starts
from structrl_ros.training.starts import practice_starts
from structrl_ros.world_types import EpisodeStart

#: Metrics of an iteration that are kept, and their names in a curve.
_CURVE = {
    'rollout/success': 'success',
    'rollout/return': 'return',
    'rollout/idle_after_reward': 'idle',
    'actor/kl': 'kl',
    'actor/skipped': 'skipped',
    'feedback/pooled_retained_mass': 'retained',
    'feedback/pooled_fallbacks': 'fallbacks',
}
#: Lanes in which episodes of an evaluation are played.
_LANES = 128


def run_cell(cell: Cell, start: Path, folder: Path, *, workers: int = 1) -> Outcome:
    """Return the outcome of a cell, from its file if it was run before.

    Args:
        cell: What is run.
        start: Run directory of its start policy.
        folder: Where outcomes, and runs that are kept, lie.
        workers: Processes that step bodies; they change no number.

    Raises:
        StructRLError: As the trainers say.
    """
    path = folder / f'{cell.key}.json'
    if path.is_file():
        return read_outcome(path)
    torch.set_num_threads(1)
    before = time.process_time()
    outcome = _practise(cell, start, folder, workers)
    if not cell.arm.keep:
        outcome = dataclasses.replace(outcome, cpu_s=time.process_time() - before)
    document = {'cell': {**cell.arm.document(), 'seed': cell.seed}, 'outcome': asdict(outcome)}
    with whole_file(path) as place:
        place.write_text(f'{json.dumps(document)}\n', encoding='utf-8')
    return outcome


def read_outcome(path: Path) -> Outcome:
    """Return the outcome in a file.

    Raises:
        CheckpointError: If it cannot be read.
    """
    try:
        document = json.loads(path.read_text(encoding='utf-8'))
        return outcome_from_json(document['outcome'])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f'{path} cannot be read: {error}') from None


def _practise(cell: Cell, start: Path, folder: Path, workers: int) -> Outcome:
    arm = cell.arm
    body, task = arm.start.body, arm.start.task
    if not arm.trainer:
        policy = load_start(str(start), arm.policy)
        source = make_reward('structured', body, (task,))
        make_world = world_maker(
            body, environments=_lanes(arm.evaluation.episodes), workers=workers, options=arm.world
        )
        return _measure(cell, policy, make_world, source, {})

    def worlds(request: RunRequest) -> MakeWorld:
        return world_maker(
            request.body,
            environments=request.settings.environments,
            workers=workers,
            options=request.body_options,
        )

    run = _old_run(folder / cell.key) if arm.keep else None
    try:
        if run is None:
            prepared = prepare_run(_request(cell, start, folder), worlds)
            if arm.keep:
                run = create_run(folder / cell.key, prepared.request.document())
        else:
            begun = run.load_policy() if run.has_checkpoint else None
            prepared = prepare_run(request_of_document(run.config), worlds, begun)
        rows = carry_out(prepared, run=run)
        if run is not None:
            rows = _log(run)
    finally:
        if run is not None:
            run.close()
    return _measure_practised(cell, prepared, rows, workers)


def _measure_practised(
    cell: Cell, prepared: PreparedRun, rows: Sequence[Metrics], workers: int
) -> Outcome:
    curve = {
        name: [row.get(metric) for row in rows]
        for metric, name in _CURVE.items()
        if any(metric in row for row in rows)
    }
    make_world = world_maker(
        prepared.request.body,
        environments=_lanes(cell.arm.evaluation.episodes),
        workers=workers,
        options=prepared.request.body_options,
    )
    source = prepared.reward_source
    assert source is not None
    task = source.source if isinstance(source, ShapedRewards) else source
    outcome = _measure(cell, prepared.policy, make_world, task, curve)
    if cell.arm.seen:
        won = _play(cell, prepared.policy, make_world, _practised(cell, prepared)).success
        outcome = dataclasses.replace(
            outcome, seen_episodes=len(won), seen_successes=int(won.sum())
        )
    return dataclasses.replace(outcome, cpu_s=_seconds(rows))


def _practised(cell: Cell, prepared: PreparedRun) -> tuple[EpisodeStart, ...]:
    """Return scenes of the last iterations of practice, each once."""
    settings = prepared.request.settings
    assert isinstance(settings, PracticeSettings)
    size = settings.group_size if isinstance(settings, GrpoSettings) else 1
    scenes = [
        start
        for iteration in range(settings.iterations)
        for start in practice_starts(
            settings.tasks,
            settings.episodes,
            seed=cell.seed,
            iteration=iteration,
            initial_states=settings.initial_states,
            group_size=size,
        )[::size]
    ]
    return tuple(scenes[-cell.arm.seen :])


def _measure(
    cell: Cell,
    policy: ChunkPolicy,
    make_world: MakeWorld,
    source: RewardSource,
    curve: Mapping[str, list[float | None]],
) -> Outcome:
    arm, evaluation = cell.arm, cell.arm.evaluation
    starts = evaluation_starts((arm.start.task,), evaluation.episodes, seed=evaluation.seed)
    rollouts = _play(cell, policy, make_world, starts)
    stages = shipped_decomposition(arm.start.body, arm.start.task).stage_names
    outcome = outcome_of(rollouts, source(rollouts), stages)
    return dataclasses.replace(outcome, curve=curve)


def _play(
    cell: Cell, policy: ChunkPolicy, make_world: MakeWorld, starts: Sequence[EpisodeStart]
) -> Rollouts:
    evaluation = cell.arm.evaluation
    collector = Collector(make_world, policy)
    try:
        return collector.collect(
            starts, seed=evaluation.seed, iteration=EVALUATION, explore=evaluation.explore
        )
    finally:
        collector.close()


def _request(cell: Cell, start: Path, folder: Path) -> RunRequest:
    arm = cell.arm
    document: dict[str, Any] = {
        'evaluate_every': 0,
        **arm.settings,
        'seed': cell.seed,
        'tasks': [arm.start.task],
    }
    if arm.copies is not None:
        document['feedback_from'] = str(folder / Cell(arm.copies, cell.seed).key)
    return RunRequest(
        trainer=arm.trainer,
        body=arm.start.body,
        settings=make_settings(TRAINERS[arm.trainer], document),
        reward=arm.reward,
        shaping=arm.shaping,
        start=str(start),
        body_options=dict(arm.world),
        policy_options=dict(arm.policy),
        beta_r=arm.beta_r,
    )


def _old_run(path: Path) -> RunDirectory | None:
    """Return the run that was begun before, None if there is none."""
    return open_run(path) if (path / 'config.json').is_file() else None


def _log(run: RunDirectory) -> tuple[Metrics, ...]:
    """Return the rows of the run's log, those before a stop among them."""
    text = (run.path / 'metrics.jsonl').read_text(encoding='utf-8')
    return tuple(json.loads(line) for line in text.splitlines())


def _seconds(rows: Sequence[Metrics]) -> float:
    """Return the CPU seconds of all iterations, those of worker processes among them."""
    return sum(v or 0.0 for row in rows for name, v in row.items() if name.startswith(SECONDS))


def _lanes(episodes: int) -> int:
    return min(_LANES, episodes)
