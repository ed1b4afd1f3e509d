"""A diffusion policy: pictures, the arm's own state and a sentence become a chunk of actions.

The controller of REVER: the planner says the subtask, the policy does it. A U-Net denoises the
chunk (Chi et al. 2023) by DDIM; what is seen and the frozen embedding of the sentence modulate it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.nn import functional

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.chain import NormalisedChainPolicy
from structrl_ros.models.policies.diffusion_unet import TRAINING_STEPS
from structrl_ros.models.policies.diffusion_unet import ChunkUNet
from structrl_ros.models.policies.diffusion_unet import cosine_alphas
from structrl_ros.models.policies.diffusion_unet import ddim_step
from structrl_ros.models.policies.diffusion_unet import denoising_times
from structrl_ros.models.policies.flow_sde import FlowSDE
from structrl_ros.models.policies.flow_sde import Velocity
from structrl_ros.models.policies.image_flow import ImageFlowConfig
from structrl_ros.models.policies.image_flow import sized
from structrl_ros.models.policies.language import make_language
from structrl_ros.models.policies.network import ImageEncoder

#: Metres that `place` tells as 1.
PLACE_SCALE = 0.03
_PROMPTS = ('instruction', 'subtask')
_EYE_CHANNELS = (32, 64, 64)
_EYE_STRIDES = (4, 2, 1)


@dataclass(frozen=True, kw_only=True)
class DiffusionConfig(ImageFlowConfig):
    """Sizes of the networks, and what they are conditioned on.

    Attributes:
        channels: Of the U-Net, from the outside in; multiples of 8.
        language: Frozen embedding, a name of `language.make_language`.
        language_identity: What that embedding was in training; '' takes the one that is here.
        prompt: Which sentence is embedded: 'subtask' (the step of the plan) or 'instruction'.
    """

    architecture: ClassVar[str] = 'diffusion'

    action_map: str = 'identity'
    denoising_steps: int = 10
    image_features: int = 64
    channels: tuple[int, ...] = (32, 64, 128)
    language: str = 'ngrams'
    language_identity: str = ''
    prompt: str = 'subtask'

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ParameterError: If one is out of range, or the embedding here is not that of training.
        """
        super().__post_init__()
        if not self.channels or any(width < 8 or width % 8 for width in self.channels):
            raise ParameterError(f'channels are {self.channels}; allowed: multiples of 8')
        if self.denoising_steps > TRAINING_STEPS:
            raise ParameterError(
                f'denoising_steps is {self.denoising_steps}; allowed: 1 to {TRAINING_STEPS}'
            )
        if self.exploration.drift_correction:
            raise ParameterError('a diffusion policy has no drift_correction; allowed: false')
        if self.prompt not in _PROMPTS:
            raise ParameterError(f'prompt is {self.prompt!r}; allowed: {", ".join(_PROMPTS)}')
        here = make_language(self.language).identity
        if self.language_identity not in ('', here):
            raise ParameterError(
                f'language {self.language} is {here} here, not {self.language_identity}, which '
                'the policy was trained with'
            )
        object.__setattr__(self, 'language_identity', here)


class DiffusionPolicy(NormalisedChainPolicy):
    """Predicts the clean chunk, and steps there by DDIM.

    Its chain is that of `FlowSDE`: noisy steps (exploration) have the likelihood that PPO
    needs.
    """

    config: DiffusionConfig

    def __init__(self, config: DiffusionConfig) -> None:
        super().__init__(config)
        self._language = make_language(config.language)
        self.eyes = torch.nn.ModuleDict(
            {
                role: ImageEncoder(config.image_features, _EYE_CHANNELS, _EYE_STRIDES)
                for role in config.roles
            }
        )
        hidden = config.hidden
        inputs = config.feature_dimension + config.image_features * len(config.roles)
        self.first = torch.nn.Linear(inputs, hidden)
        self.film = torch.nn.Linear(self._language.dimension, 2 * hidden)
        self.second = torch.nn.Linear(hidden, hidden)
        self.place = torch.nn.Linear(hidden, 3)
        self.unet = ChunkUNet(config.action_dimension, config.channels, hidden)
        self.sde = FlowSDE(config.exploration, config.denoising_steps, config.chunk_length)
        times = denoising_times(config.denoising_steps)
        self.register_buffer('times', times, persistent=False)
        self.register_buffer('alphas', cosine_alphas(), persistent=False)

    times: torch.Tensor
    alphas: torch.Tensor

    def encode(self, inputs: PolicyInput) -> torch.Tensor:
        """Return the encoding of what is seen and said, shape (B, H)."""
        eyes = [
            self.eyes[role](sized(inputs.images[role], self.config.image_size))
            for role in self.config.roles
        ]
        seen = functional.silu(
            self.first(torch.cat((self.normaliser(inputs.features), *eyes), dim=1))
        )
        scale, shift = self.film(self._said(inputs)).chunk(2, dim=1)
        meant = seen * (1.0 + scale) + shift
        encoded: torch.Tensor = meant + functional.silu(self.second(meant))
        return encoded

    def locate(self, inputs: PolicyInput) -> torch.Tensor:
        """Return where the policy sees what the sentence is about, shape (B, 3).

        Metres from the tool, in the base frame. Training teaches it where data tell; acting does
        not use it, it shows what the policy took for what.
        """
        placed: torch.Tensor = self.place(self.encode(inputs)) * PLACE_SCALE
        return placed

    def denoising_loss(
        self, seen: torch.Tensor, actions: torch.Tensor, generator: torch.Generator
    ) -> torch.Tensor:
        """Return |x_0 - x_0'|^2 by element (B, L, A), at a drawn time, of an encoding (B, H)."""
        noise = torch.randn(actions.shape, generator=generator, dtype=actions.dtype)
        times = torch.randint(0, TRAINING_STEPS, (len(actions),), generator=generator)
        times, noise = times.to(actions.device), noise.to(actions.device)
        alpha = self.alphas[times][:, None, None]
        point = alpha.sqrt() * actions + (1.0 - alpha).sqrt() * noise
        return (self.unet(point, seen, self.unet.embed_times(times)) - actions).square()

    def _said(self, inputs: PolicyInput) -> torch.Tensor:
        if len(inputs.instructions) != len(inputs.features):
            raise PolicyError(
                f'a diffusion policy reads a sentence a row: got {len(inputs.instructions)} '
                f'sentences; allowed: {len(inputs.features)}'
            )
        embedded = torch.from_numpy(self._language.embed(inputs.instructions))
        return embedded.to(inputs.features.device)

    def _velocity(self, inputs: PolicyInput) -> Velocity:
        """Return the difference to DDIM's next point, in the units of an Euler step of `FlowSDE`.

        So its mean is DDIM's next point, and noise and likelihood are those of any flow.
        """
        seen = self.encode(inputs)
        embedded = self.unet.embed_times(self.times)
        alphas = torch.cat((self.alphas[self.times], self.alphas.new_ones(1)))

        def velocity(point: torch.Tensor, step: int) -> torch.Tensor:
            clean = self.unet(point, seen, embedded[step])
            return (ddim_step(point, clean, alphas[step], alphas[step + 1]) - point).mul(
                self.config.denoising_steps
            )

        return velocity

    def _imitation_loss(
        self, inputs: PolicyInput, actions: torch.Tensor, generator: torch.Generator
    ) -> torch.Tensor:
        """Return `denoising_loss` of what is seen."""
        return self.denoising_loss(self.encode(inputs), actions, generator)
