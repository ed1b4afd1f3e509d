"""`VlmGrm`: a GRM on a vision-language model behind `ports.ProgressModel`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from structrl_ros.errors import ParameterError
from structrl_ros.models.grm.vlm_checkpoint import load_vlm_grm
from structrl_ros.models.grm.vlm_inputs import make_vlm_input
from structrl_ros.models.grm.vlm_network import VlmGrmNetwork
from structrl_ros.progress.answers import hops_of
from structrl_ros.progress.answers import only_queries
from structrl_ros.progress.context import Query
from structrl_ros.progress.hop import LABEL_SCALE
from structrl_ros.progress.score_text import ScoreTextError
from structrl_ros.progress.score_text import parse_score
from structrl_ros.progress.strip import Layout
from structrl_ros.types import Float64


class VlmGrm:
    """Answers queries about one instruction; `layout` and `view_px` say how to make them."""

    name = 'vlm-grm'

    def __init__(self, network: VlmGrmNetwork, instruction: str, *, batch: int = 8) -> None:
        """Take a network that is ready to be asked.

        Args:
            network: On any device.
            instruction: Sentence of the task.
            batch: Most queries of one pass; what more there is follows in further ones.

        Raises:
            ParameterError: If the batch is not positive.
        """
        if batch < 1:
            raise ParameterError(f'batch {batch}; allowed: from 1')
        self._network, self._batch = network, batch
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

        NaN where the head gave no number or the text holds no score: no prediction, never 0.

        Raises:
            ParameterError: If something else than queries of its layout comes.
        """
        queries = only_queries(contexts)
        instructions = [self.instruction] * len(queries)
        return hops_of(answer_queries(self._network, queries, instructions, batch=self._batch))


def answer_queries(
    network: VlmGrmNetwork,
    queries: Sequence[Query],
    instructions: Sequence[str],
    *,
    batch: int = 8,
) -> Float64:
    """Return the answers to queries, 100 x hop, not clipped, shape (B,); NaN where there is none.

    Args:
        network: On any device.
        queries: Any number.
        instructions: Sentence of each.
        batch: Most queries of one pass.

    Raises:
        ParameterError: If a query is not of the network's layout.
    """
    found = np.full(len(queries), np.nan)
    was_training = network.training
    network.eval()
    try:
        for start in range(0, len(queries), batch):
            part = slice(start, start + batch)
            inputs = make_vlm_input(
                network.config, network.processor, queries[part], instructions[part]
            ).to(network.device)
            if network.config.answer == 'text':
                found[part] = [_read(text) for text in network.write(inputs)]
                continue
            with torch.inference_mode():
                found[part] = network(inputs).cpu().double().numpy()
    finally:
        network.train(was_training)
    found[~np.isfinite(found)] = np.nan
    return found


def _read(text: str) -> float:
    try:
        return LABEL_SCALE * parse_score(text)
    except ScoreTextError:
        return float('nan')


def load_vlm_model(
    folder: Path | str,
    instruction: str,
    *,
    base: str = '',
    device: str = 'auto',
    dtype: str = 'auto',
) -> VlmGrm:
    """Return the model of a checkpoint.

    Raises:
        CheckpointError: See `load_vlm_grm`.
        ParameterError: See `load_vlm_grm`.
    """
    return VlmGrm(load_vlm_grm(folder, base=base, device=device, dtype=dtype), instruction)
