"""Reports of evaluations: one self-contained HTML of results, and one of two policies compared."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from structrl_ros import __version__
from structrl_ros.errors import BagError
from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.policy_comparison import compare_results
from structrl_ros.evaluation.results import EvaluationResults
from structrl_ros.evaluation.statistics import Rate
from structrl_ros.evaluation.summary import PolicySummary
from structrl_ros.evaluation.summary import TaskSummary
from structrl_ros.recording.rates_chart import differences_chart
from structrl_ros.recording.rates_chart import rates_chart
from structrl_ros.recording.report_episodes import Pictures
from structrl_ros.recording.report_episodes import episode_table
from structrl_ros.recording.report_episodes import pair_table
from structrl_ros.recording.report_pages import render_page

_NONE = Rate(0, 0)


def write_evaluation(
    path: Path, results: EvaluationResults, *, pictures: Pictures | None = None
) -> Path:
    """Write the report of one evaluation, finished or not.

    Args:
        path: The HTML file.
        results: What was measured, of one policy or several.
        pictures: Number of an episode to JPEG bytes (`report_episodes.load_pictures`).

    Returns:
        `path`.

    Raises:
        BagError: If the file cannot be written.
    """
    return _write(path, render_evaluation(results, pictures or {}))


def write_comparison(
    path: Path,
    a: EvaluationResults,
    b: EvaluationResults | None = None,
    *,
    pictures: tuple[Pictures, Pictures] = ({}, {}),
    seed: int = 0,
) -> Path:
    """Write the comparison of policy A with policy B on the same episodes.

    Args:
        path: The HTML file.
        a: Results of one policy; or of two, without `b`.
        b: Results of the other.
        pictures: Number of an episode to JPEG bytes, of A and of B.
        seed: Of the bootstrap.

    Returns:
        `path`.

    Raises:
        ParameterError: If protocols or episodes differ, or it is not clear which policies are
            meant.
        BagError: If the file cannot be written.
    """
    return _write(path, render_comparison(a, b, pictures=pictures, seed=seed))


def render_evaluation(results: EvaluationResults, pictures: Pictures) -> str:
    """Return the HTML of `write_evaluation`."""
    summaries = {results.label(p.code): results.summary(p.code) for p in results.policies}
    if not results.policies:
        raise ParameterError('the evaluation holds no policy; allowed: one and more')
    return render_page(
        'report_evaluation.html',
        results=results,
        policies=results.policies,
        labels=list(summaries),
        summaries=list(summaries.values()),
        **_parts(summaries),
        table=episode_table(results, pictures),
        version=__version__,
    )


def render_comparison(
    a: EvaluationResults,
    b: EvaluationResults | None = None,
    *,
    pictures: tuple[Pictures, Pictures] = ({}, {}),
    seed: int = 0,
) -> str:
    """Return the HTML of `write_comparison`."""
    found = compare_results(a, b, seed=seed)
    labels = (found.label_a, found.label_b)
    code_a, code_b = a.policies[0].code, (b or a).policies[0 if b else 1].code
    second = {episode.key: episode for episode in (b or a).of(code_b)}
    pairs = [(episode, second[episode.key]) for episode in a.of(code_a)]
    summaries = {labels[0]: a.summary(code_a), labels[1]: (b or a).summary(code_b)}
    return render_page(
        'report_comparison.html',
        results=a,
        policies=(*a.policies, *(b.policies if b else ())),
        found=found,
        labels=labels,
        summaries=list(summaries.values()),
        **_parts(summaries),
        differences=Markup(differences_chart(found.tasks, *labels)),
        table=pair_table(pairs, labels, pictures),
        version=__version__,
    )


def _parts(summaries: Mapping[str, PolicySummary]) -> dict[str, Any]:
    """Return what both reports show of policies side by side."""
    tasks = _by_task(list(summaries.values()))
    rates = {
        task: [summary.success if summary else _NONE for summary in found]
        for task, found in tasks.items()
    }
    if len(tasks) > 1:
        rates['all tasks'] = [summary.total.success for summary in summaries.values()]
    causes = dict.fromkeys(c for s in summaries.values() for c in s.total.causes)
    return {
        'tasks': tasks,
        'rates': Markup(rates_chart(rates, list(summaries))),
        'causes': {c: [s.total.causes.get(c, 0) for s in summaries.values()] for c in causes},
        'failures': [s.total.success.n - s.total.success.count for s in summaries.values()],
    }


def _by_task(summaries: Sequence[PolicySummary]) -> dict[str, list[TaskSummary | None]]:
    """Return task to its numbers of each policy, None where it played none of it."""
    names = dict.fromkeys(task.task for summary in summaries for task in summary.tasks)
    mine = [{task.task: task for task in summary.tasks} for summary in summaries]
    return {name: [tasks.get(name) for tasks in mine] for name in names}


def _write(path: Path, page: str) -> Path:
    try:
        path.write_text(page, 'utf-8')
    except OSError as error:
        raise BagError(f'cannot write {path}: {error.strerror}') from None
    return path
