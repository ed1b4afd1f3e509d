"""All experiments by name."""

from __future__ import annotations

from collections.abc import Sequence

from structrl_ros.errors import ParameterError
from structrl_ros.training.experiments.gating import gating
from structrl_ros.training.experiments.hard_start import hard_start
from structrl_ros.training.experiments.plan import Experiment
from structrl_ros.training.experiments.rewards_compared import rewards_compared
from structrl_ros.training.experiments.sampled_start import optimisers
from structrl_ros.training.experiments.sampled_start import sampled_start
from structrl_ros.training.experiments.twin_bench import TwinBench


def twin_experiments(bench: TwinBench) -> tuple[Experiment, ...]:
    """Return the experiments on the twin: those with claims first."""
    return (
        hard_start(bench),
        sampled_start(bench),
        gating(bench),
        optimisers(bench),
        *rewards_compared(bench),
    )


def choose(experiments: Sequence[Experiment], names: Sequence[str]) -> tuple[Experiment, ...]:
    """Return those of some names, all without any.

    Raises:
        ParameterError: If there is none of a name.
    """
    known = {experiment.name: experiment for experiment in experiments}
    for name in names:
        if name not in known:
            raise ParameterError(f'unknown experiment {name!r}; known: {", ".join(known)}')
    return tuple(known[name] for name in names) if names else tuple(experiments)
