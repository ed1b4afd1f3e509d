"""Tables of evaluations for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.markup import escape
from rich.table import Table

from structrl_ros.evaluation.paired import PairedComparison
from structrl_ros.evaluation.policy_comparison import PolicyComparison
from structrl_ros.evaluation.protocol import Protocol
from structrl_ros.evaluation.protocol import schedule
from structrl_ros.evaluation.results import EvaluationResults
from structrl_ros.evaluation.sequential import detectable_difference
from structrl_ros.evaluation.statistics import Rate
from structrl_ros.evaluation.summary import TaskSummary


def schedule_table(protocol: Protocol, rows: int) -> Table:
    """Return the first and last trials of a protocol; without policies, of one called '?'."""
    trials = schedule(protocol, _shown_codes(protocol))
    table = Table('no.', 'policy', 'task', 'seed', 'initial state', 'card')
    for trial in trials:
        if rows <= trial.number < len(trials) - rows:
            if trial.number == rows:
                table.add_row('...', *[''] * 5)
            continue
        start = trial.start
        card = start.card.text if start.card else ''
        numbers = str(trial.number), trial.code, start.task, str(start.seed)
        table.add_row(*map(escape, (*numbers, str(start.initial_state), card)))
    return table


def plan_lines(protocol: Protocol) -> list[str]:
    """Return what a protocol is in words, and what its n could show."""
    n, count = protocol.episodes * len(protocol.tasks), max(1, len(protocol.policies))
    least = detectable_difference(n)
    shown = f'a difference of {least:.2f}' if least is not None else 'no difference'
    lines = [
        f'{protocol.name}: {n * count} episodes, {n} of each policy, on {protocol.body}, '
        f'success by {protocol.success}, order {protocol.order}, protocol '
        f'{protocol.fingerprint[:8]}',
        f'{n} episodes of each of two policies show {shown} from a rate of 0.5 (error 0.05, '
        'power 0.8, unpaired; pairs need fewer where the scene decides much)',
    ]
    stop = protocol.stop
    if stop.rule == 'rate':
        lines.append(
            f'stops as soon as a rate is at most {stop.low:g} or at least {stop.high:g}, error '
            f'{stop.alpha:g} on either side'
        )
    elif stop.rule == 'paired':
        lines.append(
            f'stops as soon as one policy wins at least {stop.high:g} of the pairs that one alone '
            f'wins, error {stop.alpha:g} on either side'
        )
    if protocol.blinding:
        lines.append('policies carry code names; which is which is sealed until the end')
    return lines


def result_table(results: EvaluationResults) -> Table:
    """Return success, steps, time, interventions and failures by policy and task."""
    table = Table(
        *('policy', 'task', 'n', 'success', 'subtasks', 'time', 'takeovers', 'failures'),
        title=f'{escape(results.protocol)} on {results.body}: rates [95 % interval]',
    )
    for column in table.columns:
        column.overflow = 'fold'
    for policy in results.policies:
        summary = results.summary(policy.code)
        label = escape(results.label(policy.code))
        for task in summary.tasks:
            table.add_row(label, escape(task.task), *_cells(task))
        if len(summary.tasks) != 1:
            table.add_row(label, 'all', *_cells(summary.total))
            if summary.macro is not None:
                low, high = summary.macro_interval
                text = f'{summary.macro:.2f} [{low:.2f}, {high:.2f}]'
                table.add_row(label, 'mean of tasks', '', text)
        table.add_section()
    return table


def subtask_table(results: EvaluationResults) -> Table:
    """Return how often each subtask was done, one column a policy."""
    labels = [escape(results.label(policy.code)) for policy in results.policies]
    table = Table('task', 'subtask', *labels, title='subtasks done')
    summaries = [results.summary(policy.code) for policy in results.policies]
    by_task: dict[str, dict[str, list[str]]] = {}
    for place, summary in enumerate(summaries):
        for task in summary.tasks:
            rows = by_task.setdefault(task.task, {})
            for name, rate in task.subtasks.items():
                rows.setdefault(name, ['-'] * len(summaries))[place] = rate_text(rate)
    for name, rows in by_task.items():
        for number, (subtask, cells) in enumerate(rows.items()):
            table.add_row('' if number else escape(name), escape(subtask), *cells)
        table.add_section()
    return table


def comparison_table(comparison: PolicyComparison) -> Table:
    """Return both rates, the pairs and the difference, by task and in all."""
    a, b = escape(comparison.label_a), escape(comparison.label_b)
    table = Table(
        *('task', 'pairs', a, b, f'only {a}', f'only {b}', 'difference', 'p (McNemar)'),
        title='paired by task, seed and initial state; 95 % intervals',
    )
    rows: Mapping[str, PairedComparison] = comparison.tasks
    if len(rows) != 1:
        rows = {**rows, 'all': comparison.total}
    for task, found in rows.items():
        low, high = found.interval
        table.add_row(
            escape(task),
            str(found.n),
            rate_text(Rate(found.both + found.only_a, found.n)),
            rate_text(Rate(found.both + found.only_b, found.n)),
            str(found.only_a),
            str(found.only_b),
            f'{found.difference:+.2f} [{low:+.2f}, {high:+.2f}]',
            f'{found.p_value:.4f}',
        )
    return table


def rate_text(rate: Rate) -> str:
    """Return a rate with its interval, '-' without episodes."""
    if rate.value is None:
        return '-'
    low, high = rate.interval
    return f'{rate.value:.2f} [{low:.2f}, {high:.2f}]'


def _cells(task: TaskSummary) -> tuple[str, ...]:
    seconds = '-' if task.mean_success_s is None else f'{task.mean_success_s:.1f} s'
    causes = ', '.join(f'{count} {cause}' for cause, count in task.causes.items())
    n, takeovers = str(task.success.n), str(task.interventions)
    return n, rate_text(task.success), rate_text(task.steps_done), seconds, takeovers, causes


def _shown_codes(protocol: Protocol) -> list[str]:
    names = [policy.name for policy in protocol.policies] or ['?']
    if not protocol.blinding:
        return names
    return [chr(ord('A') + k) for k in range(len(names))]
