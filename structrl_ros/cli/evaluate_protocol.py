"""Protocols on the command line: plan, play, report and compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import Progress

from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.evaluation.episode_record import EpisodeRecord
    from structrl_ros.evaluation.protocol import Protocol
    from structrl_ros.evaluation.results import EvaluationResults
    from structrl_ros.training.evaluation_folder import EvaluationFolder
    from structrl_ros.training.evaluation_run import Players


def chosen_protocol(path: Path, words: Sequence[str]) -> Protocol:
    """Return the protocol of a file with the policies that words choose; none: its own.

    Raises:
        ParameterError: If the file or a word is wrong.
    """
    from structrl_ros.training.evaluated_policy import policy_of_word
    from structrl_ros.training.protocol_document import read_protocol

    protocol = read_protocol(path)
    if not words:
        return protocol
    known = {policy.name: policy for policy in protocol.policies}
    chosen = tuple(policy_of_word(word, known) for word in words)
    if len({policy.name for policy in chosen}) != len(chosen):
        raise ParameterError('--policy: a name is given twice; allowed: each once')
    return replace(protocol, policies=chosen)


def print_plan(path: Path, words: Sequence[str], rows: int, console: Console) -> None:
    """Print the schedule, n, and what it could show."""
    from structrl_ros.cli.evaluate_tables import plan_lines
    from structrl_ros.cli.evaluate_tables import schedule_table

    protocol = chosen_protocol(path, words)
    console.print(schedule_table(protocol, rows))
    for line in plan_lines(protocol):
        console.print(line, highlight=False, markup=False)


def play_protocol(
    path: Path, words: Sequence[str], out: Path, workers: int, ray: str, console: Console
) -> None:
    """Play what is open of a protocol, and print the numbers."""
    from structrl_ros.evaluation.protocol import REAL_BODY
    from structrl_ros.training.evaluation_folder import open_evaluation
    from structrl_ros.training.evaluation_run import run_evaluation

    protocol = chosen_protocol(path, words)
    if protocol.body == REAL_BODY or protocol.success == 'person':
        raise ParameterError(
            f'body {protocol.body}, success {protocol.success}: a person is needed; '
            'allowed here: a simulated body, or use structrl evaluate live'
        )
    folder = open_evaluation(out, protocol)
    try:
        done = len(folder.trials) - len(folder.stand.open)
        if done:
            console.print(f'{out}: {done} of {len(folder.trials)} episodes are done')
        with Progress(console=console, transient=True) as progress:
            bar = progress.add_task('episodes', total=len(folder.trials), completed=done)

            def count(record: EpisodeRecord) -> None:
                progress.advance(bar)

            results = run_evaluation(folder, partial(_players, workers, ray), on_record=count)
    finally:
        folder.close()
    _show(results, console)


def print_report(path: Path, console: Console) -> None:
    """Print the numbers of a folder, made anew from its episodes."""
    from structrl_ros.training.evaluation_folder import EvaluationFolder

    _show(EvaluationFolder(path, read_only=True).save_results(), console)


def print_comparison(
    first: Path, second: Path | None, seed: int, json_path: Path | None, console: Console
) -> None:
    """Print the paired comparison of two policies."""
    import json

    from structrl_ros.cli.evaluate_tables import comparison_table
    from structrl_ros.evaluation.policy_comparison import compare_results
    from structrl_ros.evaluation.results import load_results

    other = load_results(second) if second else None
    comparison = compare_results(load_results(first), other, seed=seed)
    console.print(comparison_table(comparison))
    console.print(comparison.sentence, highlight=False, markup=False)
    if json_path is not None:
        from structrl_ros.models.whole_files import whole_file

        with whole_file(json_path) as place:
            text = json.dumps(comparison.to_json(), indent=1)
            place.write_text(f'{text}\n', encoding='utf-8')


def _players(workers: int, ray: str, folder: EvaluationFolder) -> Players:
    from structrl_ros.training.evaluation_pool import PlayerPool
    from structrl_ros.training.evaluation_pool import worker_count
    from structrl_ros.training.evaluation_run import OnePlayer

    if ray:
        from structrl_ros.training.evaluation_ray import RayPlayers

        return RayPlayers(folder, ray, workers)
    count = min(worker_count(workers), len(folder.stand.open))
    return OnePlayer(folder) if count == 1 else PlayerPool(folder, count)


def _show(results: EvaluationResults, console: Console) -> None:
    from structrl_ros.cli.evaluate_tables import result_table
    from structrl_ros.cli.evaluate_tables import subtask_table

    console.print(result_table(results))
    console.print(subtask_table(results))
    if results.stopped:
        console.print(f'stopped early: {results.stopped}', highlight=False, markup=False)
    elif not results.is_complete:
        left = results.planned - len(results.episodes)
        console.print(f'{left} of {results.planned} episodes are open', highlight=False)
