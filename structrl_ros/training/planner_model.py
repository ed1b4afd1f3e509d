"""The model that a planner's training starts from, and what of it trains."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from structrl_ros.errors import ParameterError
from structrl_ros.models.vlm.loading import LoadedVlm
from structrl_ros.models.vlm.loading import VlmSettings
from structrl_ros.models.vlm.loading import load_vlm
from structrl_ros.training.planner_settings import PlannerSettings
from structrl_ros.training.planner_settings import PlannerSftSettings


def check_packages() -> None:
    """Refuse to begin where a library is missing.

    Raises:
        ParameterError: If it is.
    """
    for name in ('trl', 'datasets', 'peft'):
        if importlib.util.find_spec(name) is None:
            raise ParameterError(
                f'training a planner needs {name}; install it with: '
                'pip install -r requirements/planner.txt'
            )


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Leave out what transformers, trl and peft say of names that they will drop themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore', FutureWarning)
        yield


def load_base(settings: PlannerSettings) -> LoadedVlm:
    """Return the base without an adapter.

    Raises:
        ParameterError: If a package or the device is not here.
        CheckpointError: If it cannot be had.
    """
    return load_vlm(
        VlmSettings(
            model=settings.base,
            device=settings.device,
            dtype=settings.dtype,
            four_bit=settings.four_bit,
            image_pixels=settings.image_pixels,
        )
    )


def trained_model(vlm: LoadedVlm, settings: PlannerSettings) -> Any:
    """Return the model with what trains: a fresh adapter, one to go on from, or all of it.

    Raises:
        ParameterError: If the base has no module with an end that `lora_targets` names.
        CheckpointError: If the adapter is missing, cut, or of another base.
    """
    if isinstance(settings, PlannerSftSettings) and settings.weights == 'all':
        return vlm.model.train()
    if settings.adapter:
        from structrl_ros.models.vlm.adapters import open_adapter

        return open_adapter(vlm.model, Path(settings.adapter), settings.base)
    from peft import LoraConfig
    from peft import get_peft_model

    config = LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha,
        lora_dropout=0.0,
        target_modules=list(settings.lora_targets),
        modules_to_save=list(settings.lora_whole) or None,
        task_type='CAUSAL_LM',
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        try:
            return get_peft_model(vlm.model, config)
        except ValueError as error:
            why = ' '.join(str(error).split())[:120]
            raise ParameterError(
                f'lora_targets {", ".join(settings.lora_targets)}: {why}'
            ) from None
