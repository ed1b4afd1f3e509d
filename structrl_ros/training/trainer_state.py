"""What a trainer needs besides its policy to go on as if it had never stopped.

Tensors go to safetensors, everything else to JSON; nothing is pickled. Both must come back to
the last bit, so floats are written as Python writes them (shortest text that reads back equal).
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from structrl_ros.errors import CheckpointError
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.registry import fill_policy
from structrl_ros.types import JsonObject

_TORCH_GENERATOR = 'torch_generator'


@dataclass(slots=True)
class TrainerState:
    """Tensors by name, and JSON by name."""

    tensors: dict[str, Tensor] = field(default_factory=dict)
    numbers: JsonObject = field(default_factory=dict)

    def put_module(self, name: str, module: torch.nn.Module) -> None:
        """Keep weights and buffers."""
        for key, tensor in module.state_dict().items():
            self.tensors[f'{name}/{key}'] = tensor.detach()

    def get_module(self, name: str, module: torch.nn.Module) -> None:
        """Give a module its weights and buffers back.

        Raises:
            CheckpointError: If the module has others than those that were kept.
        """
        kept = self._part(name)
        own = module.state_dict()
        wanted = {key: tuple(tensor.shape) for key, tensor in own.items()}
        got = {key: tuple(tensor.shape) for key, tensor in kept.items()}
        if wanted != got:
            key = next(k for k in sorted({*wanted, *got}) if wanted.get(k) != got.get(k))
            raise CheckpointError(
                f'{name}: {key!r} has shape {got.get(key)} in the checkpoint and '
                f'{wanted.get(key)} here; it is of another architecture'
            )
        module.load_state_dict(kept)

    def put_policy(self, name: str, policy: ChunkPolicy) -> None:
        """Keep what a checkpoint of the policy keeps."""
        for key, tensor in policy.checkpoint_tensors().items():
            self.tensors[f'{name}/{key}'] = tensor.detach()

    def get_policy(self, name: str, policy: ChunkPolicy) -> None:
        """Give a policy its weights back.

        Raises:
            CheckpointError: If it is of another architecture.
        """
        fill_policy(policy, self._part(name))

    def put_optimiser(self, name: str, optimiser: torch.optim.Optimizer) -> None:
        """Keep the moments, and the options of every group."""
        state = optimiser.state_dict()
        for number, moments in state['state'].items():
            for key, value in moments.items():
                self.tensors[f'{name}/{number}/{key}'] = torch.as_tensor(value).detach()
        self.numbers[name] = state['param_groups']

    def get_optimiser(self, name: str, optimiser: torch.optim.Optimizer) -> None:
        """Give an optimiser its moments back.

        Raises:
            CheckpointError: If it optimises other parameters.
        """
        moments: dict[int, dict[str, Tensor]] = {}
        for key, tensor in self._part(name).items():
            number, _, kind = key.partition('/')
            moments.setdefault(int(number), {})[kind] = tensor
        try:
            optimiser.load_state_dict({'state': moments, 'param_groups': self._number(name)})
        except ValueError as error:
            raise CheckpointError(f'{name}: does not fit the parameters here: {error}') from None

    def put_generators(self, random: np.random.Generator) -> None:
        """Keep a numpy generator and torch's own."""
        self.numbers['numpy_generator'] = random.bit_generator.state
        self.tensors[_TORCH_GENERATOR] = torch.get_rng_state()

    def get_generators(self, random: np.random.Generator) -> None:
        """Set both generators back."""
        random.bit_generator.state = self._number('numpy_generator')
        torch.set_rng_state(self.tensors[_TORCH_GENERATOR])

    def _part(self, name: str) -> dict[str, Tensor]:
        prefix = f'{name}/'
        return {
            key.removeprefix(prefix): tensor
            for key, tensor in self.tensors.items()
            if key.startswith(prefix)
        }

    def _number(self, name: str) -> Any:
        if name not in self.numbers:
            raise CheckpointError(
                f'the checkpoint keeps no {name!r}; it keeps {", ".join(sorted(self.numbers))}'
            )
        return self.numbers[name]
