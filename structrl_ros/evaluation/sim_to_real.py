"""Does a simulator predict the arm? Success rates of the same tasks in two evaluations.

The interval of a measure comes from a bootstrap over tasks and, within each drawn task, over its
episodes, so that it holds both the choice of tasks and binomial noise. Noise of few episodes also
lowers a correlation by itself: `alike` tells what two evaluations of one and the same world would
show with so many episodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import asdict
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.comparison import fisher_p
from structrl_ros.evaluation.sim_to_real_measures import mean_maximum_rank_violation
from structrl_ros.evaluation.sim_to_real_measures import pearson
from structrl_ros.evaluation.sim_to_real_measures import spearman
from structrl_ros.evaluation.statistics import wilson_interval
from structrl_ros.types import Float64
from structrl_ros.types import JsonObject

#: Resamples of a bootstrap, and how many are held in memory at once.
RESAMPLES = 10_000
BLOCK = 1_000
#: Fewest tasks that a correlation is told of: two points always lie on a line.
FEWEST_TASKS = 3
#: Share of resamples that must define a measure before an interval is told.
DEFINED_SHARE = 0.5

#: Successes and episodes of a task.
Counts = tuple[int, int]
_Measure = Callable[[Float64, Float64], Float64]


@dataclass(frozen=True, slots=True)
class TaskRates:
    """Successes and episodes of one task on both sides."""

    task: str
    sim: Counts
    real: Counts

    @property
    def difference(self) -> float:
        """Rate in simulation less rate on the real side, [-1, 1]."""
        return self.sim[0] / self.sim[1] - self.real[0] / self.real[1]

    @property
    def intervals(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Wilson's 95 % intervals of the rates in simulation and real."""
        return wilson_interval(*self.sim), wilson_interval(*self.real)

    @property
    def p_value(self) -> float:
        """Fisher's exact test that both rates are the same."""
        return fisher_p(*self.sim, *self.real)


@dataclass(frozen=True, slots=True)
class Agreement:
    """One measure of how far simulation predicts reality.

    Attributes:
        name: 'pearson', 'spearman' or 'mmrv'.
        value: Of the rates as measured, None where they do not define it.
        interval: 95 % bootstrap interval over tasks and episodes, None where it cannot be had.
        alike: 2.5 %, 50 % and 97.5 % quantile of the measure between two evaluations of one world
            with the pooled rates and these numbers of episodes; None as above.
        note: Why something is None, one line, or ''.
    """

    name: str
    value: float | None
    interval: tuple[float, float] | None
    alike: tuple[float, float, float] | None
    note: str = ''


@dataclass(frozen=True, slots=True)
class SimToReal:
    """Rates of the common tasks and how well one side predicts the other.

    `difference` is the mean over tasks of rate in simulation less real, with its interval over
    tasks and episodes; `left_out` are tasks that one side alone has.
    """

    tasks: tuple[TaskRates, ...]
    pearson: Agreement
    spearman: Agreement
    mmrv: Agreement
    difference: float
    difference_interval: tuple[float, float]
    left_out: tuple[str, ...]

    @property
    def measures(self) -> tuple[Agreement, ...]:
        """The three measures."""
        return self.pearson, self.spearman, self.mmrv

    def to_json(self) -> JsonObject:
        """Return everything as a JSON object; p-values and Wilson intervals with each task."""
        document = asdict(self)
        for entry, task in zip(document['tasks'], self.tasks, strict=True):
            entry['p_value'], entry['difference'] = task.p_value, task.difference
            entry['sim_interval'], entry['real_interval'] = task.intervals
        return document


def compare_sim_to_real(
    sim: Mapping[str, Counts],
    real: Mapping[str, Counts],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> SimToReal:
    """Compare the success rates of two evaluations, task by task and as a whole.

    Args:
        sim: Task to (successes, episodes) in simulation.
        real: The same of the real side; tasks of one side alone are left out and named.
        seed: Of the bootstrap.
        resamples: Of the bootstrap; rounded up to whole blocks.

    Raises:
        ParameterError: If no task is common to both, or a count makes no sense.
    """
    tasks = tuple(TaskRates(t, sim[t], real[t]) for t in sim if t in real)
    if not tasks:
        raise ParameterError(
            f'no task is in both evaluations: {_names(sim)} and {_names(real)}; '
            'allowed: the same names on both sides'
        )
    for rates in tasks:
        for successes, n in (rates.sim, rates.real):
            if n < 1 or not 0 <= successes <= n:
                raise ParameterError(
                    f'{rates.task}: {successes} successes of {n}; allowed: 1 episode and more'
                )
    return _compare(
        tasks,
        tuple(sorted(set(sim) ^ set(real))),
        np.random.default_rng(seed),
        math.ceil(resamples / BLOCK),
    )


def _compare(
    tasks: tuple[TaskRates, ...],
    left_out: tuple[str, ...],
    random: np.random.Generator,
    blocks: int,
) -> SimToReal:
    counts = np.array([[t.sim, t.real] for t in tasks], dtype=np.int64)  # (T, side, (k, n))
    sim, real = counts[:, 0, 0] / counts[:, 0, 1], counts[:, 1, 0] / counts[:, 1, 1]
    drawn = [_resample(counts, BLOCK, random) for _ in range(blocks)]
    alike = [_same_world(counts, BLOCK, random) for _ in range(blocks)]
    measured = {
        name: _agreement(name, measure, (sim, real), drawn, alike)
        for name, measure in _MEASURES.items()
    }
    gaps = np.concatenate([(a - b).mean(axis=1) for a, b in drawn])
    low, high = np.quantile(gaps, [0.025, 0.975])
    return SimToReal(
        tasks=tasks,
        **measured,
        difference=float((sim - real).mean()),
        difference_interval=(float(low), float(high)),
        left_out=left_out,
    )


def _agreement(
    name: str,
    measure: _Measure,
    rates: tuple[Float64, Float64],
    drawn: list[tuple[Float64, Float64]],
    alike: list[tuple[Float64, Float64]],
) -> Agreement:
    sim, real = rates
    why = _undefined(name, sim, real)
    if why:
        return Agreement(name, None, None, None, why)
    value = float(measure(sim[None], real[None])[0])
    interval = _quantiles(measure, drawn, [0.025, 0.975])
    expected = _quantiles(measure, alike, [0.025, 0.5, 0.975])
    note = '' if interval else 'most resamples have equal rates on one side: no interval'
    return Agreement(
        name,
        value,
        (interval[0], interval[1]) if interval else None,
        (expected[0], expected[1], expected[2]) if expected else None,
        note,
    )


def _undefined(name: str, sim: Float64, real: Float64) -> str:
    """Return in one line why a measure says nothing here, or ''."""
    fewest = 2 if name == 'mmrv' else FEWEST_TASKS
    if len(sim) < fewest:
        return f'{len(sim)} common task(s); {name} needs {fewest} and more'
    if name != 'mmrv':
        for side, values in (('simulation', sim), ('the real side', real)):
            if np.ptp(values) == 0.0:
                return f'every task has the success rate {values[0]:.3g} in {side}: no {name}'
    return ''


def _quantiles(
    measure: _Measure, drawn: list[tuple[Float64, Float64]], shares: list[float]
) -> list[float] | None:
    values = np.concatenate([measure(sim, real) for sim, real in drawn])
    defined = values[np.isfinite(values)]
    if len(defined) < DEFINED_SHARE * len(values):
        return None
    return [float(v) for v in np.quantile(defined, shares)]


def _resample(
    counts: np.ndarray, rows: int, random: np.random.Generator
) -> tuple[Float64, Float64]:
    """Return rates (rows, T) of both sides: tasks drawn with return, then their episodes."""
    picks = random.integers(0, len(counts), size=(rows, len(counts)))
    chosen = counts[picks]  # (rows, T, side, (k, n))
    k, n = chosen[..., 0], chosen[..., 1]
    rates = random.binomial(n, k / n) / n
    return rates[..., 0], rates[..., 1]


def _same_world(
    counts: np.ndarray, rows: int, random: np.random.Generator
) -> tuple[Float64, Float64]:
    """Return rates (rows, T) of two evaluations of one world that has the pooled rates."""
    pooled = counts[..., 0].sum(axis=1) / counts[..., 1].sum(axis=1)
    n = np.broadcast_to(counts[..., 1], (rows, *counts.shape[:2]))
    rates = random.binomial(n, pooled[:, None]) / n
    return rates[..., 0], rates[..., 1]


def _names(tasks: Mapping[str, Counts]) -> str:
    return ', '.join(sorted(tasks)) or 'none'


_MEASURES: Mapping[str, _Measure] = {
    'pearson': pearson,
    'spearman': spearman,
    'mmrv': mean_maximum_rank_violation,
}
