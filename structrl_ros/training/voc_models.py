"""Progress models of the VOC benchmark: checkpoints, and baselines behind the same port.

A word names one: the folder of a checkpoint or the name of a shipped one, or `true`, `robometer`
or `untrained`; `:static` at its end hides the panels from a model that knows them (`static8` of
the paper).
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.ports import ProgressModel
from structrl_ros.progress.answers import only_queries
from structrl_ros.progress.context import Query
from structrl_ros.progress.hop import signed_hop
from structrl_ros.progress.strip import Layout
from structrl_ros.progress.views import Views
from structrl_ros.training.voc_trajectories import VocTrajectory
from structrl_ros.types import Float64

_GROUNDS = {'true': 'simulator', 'robometer': 'stand-in'}
STATIC = ':static'
#: Standard deviation of the stand-in's error of a frame's progress.
ROBOMETER_NOISE = 0.05
#: Baselines do not look at pictures; small ones are made faster.
_UNSEEN_PX = 16


@dataclass(frozen=True, slots=True)
class VocModel:
    """A model with what its queries must look like.

    Attributes:
        word: What named it.
        layout: Panels of its queries.
        view_px: Side of its views, pixels.
        hides_panels: Whether its panels are left empty.
        about: Gives the model that is asked about a trajectory.
    """

    word: str
    layout: Layout
    view_px: int
    hides_panels: bool
    about: Callable[[VocTrajectory], ProgressModel]

    @property
    def input(self) -> str:
        """'static' or 'panel', as in Table 1 of the paper; of a baseline, what it stands on."""
        if self.word in _GROUNDS:
            return _GROUNDS[self.word]
        has_panels = self.layout.pre_panels + self.layout.between_panels > 0
        return 'panel' if has_panels and not self.hides_panels else 'static'


class KnownProgress:
    """Answers with the hop between two known potentials: the simulator's true progress.

    It knows a frame by its `Views` object, so it is asked by the very queries of every model.
    """

    name = 'true'

    def __init__(self, trajectory: VocTrajectory) -> None:
        """Learn the true potential of every frame that is shown, and of the goal."""
        self._known: dict[int, tuple[Views, float, bool]] = {}
        self._learn(trajectory.source[-1].views, 1.0, False)
        potentials = self.potentials(trajectory)
        for frame, potential in zip(trajectory.shown, potentials, strict=True):
            self._learn(frame.views, float(potential), bool(potential < 0.0))

    def potentials(self, trajectory: VocTrajectory) -> Float64:
        """Return what this model takes for the potential of each frame, shape (T,)."""
        return trajectory.truth

    def hops(self, contexts: Sequence[object]) -> Float64:
        """Return the hop of each query, shape (B,).

        Raises:
            ParameterError: If something else than queries of the trajectory comes.
        """
        pairs = [self._pair(query) for query in only_queries(contexts)]
        before, after, flag_b, flag_a = zip(*pairs, strict=True)
        return signed_hop(before, after, flag_b, flag_a)

    def _pair(self, query: Query) -> tuple[float, float, bool, bool]:
        known = [self._known.get(id(views)) for views in (query.before, query.after)]
        if known[0] is None or known[1] is None:
            raise ParameterError('query of frames that are not of this trajectory; allowed: its')
        return known[0][1], known[1][1], known[0][2], known[1][2]

    def _learn(self, views: Views, potential: float, is_negative: bool) -> None:
        self._known[id(views)] = (views, potential, is_negative)


class RobometerStandIn(KnownProgress):
    """A progress in [0, 1] a frame, with an error of its own, and no negative branch.

    StructRL, Eq. 5, has Robometer's progress as the expectation of ten bins from 0 to 1. Its
    weights are not here, so this stands in: the true progress, 0 where the task has failed, plus
    noise. It shows what such a scale can say at best, not how good Robometer is.
    """

    name = 'robometer-stand-in'

    def potentials(self, trajectory: VocTrajectory) -> Float64:
        """Return the noisy progress of each frame; the same for every asking, shape (T,)."""
        rng = np.random.default_rng(list(trajectory.name.encode()))
        noise = rng.normal(0.0, ROBOMETER_NOISE, len(trajectory.truth))
        noise[0] = 0.0  # the anchors are known: an error there would open the negative gate
        return np.clip(np.maximum(trajectory.truth, 0.0) + noise, 0.0, 1.0)


def find_model(word: str) -> VocModel:
    """Return the model of a word.

    Raises:
        CheckpointError: If the checkpoint is missing, cut or of another architecture.
        ParameterError: If panels are to be hidden from a baseline that does not look at them.
    """
    name, hides_panels = word.removesuffix(STATIC), word.endswith(STATIC)
    if name not in _GROUNDS:
        return _network(word, name, hides_panels)
    if hides_panels:
        raise ParameterError(f'model {word!r}; allowed: {STATIC} after a network alone')
    kind = KnownProgress if name == 'true' else RobometerStandIn
    return VocModel(word, _STATIC_LAYOUT, _UNSEEN_PX, False, kind)


_STATIC_LAYOUT = Layout(pre_panels=0, between_panels=0, cell_px=_UNSEEN_PX)


def _network(word: str, name: str, hides_panels: bool) -> VocModel:
    from structrl_ros.models.grm.sizes import load_any_grm

    if name == 'untrained':
        return _untrained(word, hides_panels)
    grm = load_any_grm(name)
    return VocModel(
        word, grm.layout, grm.view_px, hides_panels, lambda shown: grm.about(shown.instruction)
    )


def _untrained(word: str, hides_panels: bool) -> VocModel:
    import torch

    from structrl_ros.models.grm.config import GrmConfig
    from structrl_ros.models.grm.network import GrmNetwork
    from structrl_ros.models.grm.small import SmallGrm

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = GrmNetwork(GrmConfig()).eval()
    config = network.config
    return VocModel(
        word,
        config.layout,
        config.view_px,
        hides_panels,
        lambda shown: SmallGrm(network, shown.instruction),
    )
