"""`SmallGrm`: the small network behind `ports.ProgressModel`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from structrl_ros.models.grm.checkpoint import load_grm
from structrl_ros.models.grm.distinct import make_distinct
from structrl_ros.models.grm.network import GrmNetwork
from structrl_ros.progress.answers import hops_of
from structrl_ros.progress.answers import only_queries
from structrl_ros.progress.strip import Layout
from structrl_ros.types import Float64


class SmallGrm:
    """Answers queries about one instruction; `layout` and `view_px` say how to make them."""

    name = 'small-grm'

    def __init__(self, network: GrmNetwork, instruction: str) -> None:
        """Take a network that is ready to be asked."""
        self._network = network
        self.instruction = instruction

    @property
    def layout(self) -> Layout:
        """Panels of its queries."""
        return self._network.config.layout

    @property
    def view_px(self) -> int:
        """Side of its views, pixels."""
        return self._network.config.view_px

    def hops(self, contexts: Sequence[object]) -> Float64:
        """Return the normalised hop of each query (Eq. 12), shape (B,).

        NaN where the network gave no number: no prediction, and never 0.

        Raises:
            ParameterError: If something else than queries of its layout comes.
        """
        queries = only_queries(contexts)
        instructions = [self.instruction] * len(queries)
        inputs = make_distinct(self._network.config, queries, instructions)
        device = next(self._network.parameters()).device
        with torch.inference_mode():
            answers = self._network.answer_distinct(inputs.to(device)).cpu().double().numpy()
        return hops_of(answers)


def load_small_grm(folder: Path | str, instruction: str) -> SmallGrm:
    """Return the model of a checkpoint.

    Raises:
        CheckpointError: See `load_grm`.
    """
    return SmallGrm(load_grm(folder), instruction)
