"""pi0 of transformers (`PI0ForConditionalGeneration`) as a chunk policy; needs transformers, peft.

pi0's time runs from 1 (noise) to 0 (data) and its velocity is noise - data; `flow_sde` has both
the other way round, so its velocity at t is -pi0's at 1 - t.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import ClassVar

import torch

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.models.policies.chain import NormalisedChainPolicy
from structrl_ros.models.policies.config import PolicyConfig
from structrl_ros.models.policies.flow_sde import Exploration
from structrl_ros.models.policies.flow_sde import FlowSDE
from structrl_ros.models.policies.flow_sde import Velocity
from structrl_ros.models.policies.pi0_inputs import padded
from structrl_ros.models.policies.pi0_inputs import pictures
from structrl_ros.models.policies.pi0_inputs import prompt_tokens
from structrl_ros.models.policies.pi0_loading import load_network
from structrl_ros.models.policies.pi0_loading import load_tokenizer


@dataclass(frozen=True, kw_only=True)
class Pi0Config(PolicyConfig):
    """Where the base weights are, and what of them trains.

    The rows that pi0 denoises are `chunk_length`: its weights know no length of a chunk.

    Attributes:
        base: Local directory of `save_pretrained`, or id on the hub, with the tokenizer.
        revision: Of a hub id; its newest by default.
        dtype: 'float32' or 'bfloat16', of the weights.
        text_length: Tokens that an instruction is padded to.
        denoising_steps: S, Euler steps of a sample.
        exploration: Noise of the flow-SDE.
        lora_rank: Of peft's adapters; 0 trains the weights themselves.
        lora_alpha: Scale of the adapters, times 1 / rank.
        lora_targets: Ends of the names of the modules that get adapters.
        trained: Ends of the names of modules that train whole beside the adapters.
        frozen: Starts of the names of parameters that do not train, for rank 0.
    """

    architecture: ClassVar[str] = 'pi0'

    base: str
    action_map: str = 'identity'
    revision: str = ''
    dtype: str = 'float32'
    text_length: int = 48
    denoising_steps: int = 10
    exploration: Exploration = field(default_factory=Exploration)
    lora_rank: int = 0
    lora_alpha: float = 16.0
    lora_targets: tuple[str, ...] = ('q_proj', 'v_proj')
    trained: tuple[str, ...] = ()
    frozen: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ParameterError: If one is out of range.
        """
        super().__post_init__()
        if not self.roles:
            raise ParameterError('a pi0 policy needs roles; got none')
        if self.dtype not in ('float32', 'bfloat16'):
            raise ParameterError(f'dtype is {self.dtype!r}; allowed: float32, bfloat16')
        if self.denoising_steps < 1 or self.text_length < 2 or self.lora_rank < 0:
            raise ParameterError(
                f'denoising_steps {self.denoising_steps}, text_length {self.text_length}, '
                f'lora_rank {self.lora_rank}; allowed: 1, 2, 0 and more'
            )
        self.exploration.noisy_steps(self.denoising_steps)


class Pi0Policy(NormalisedChainPolicy):
    """pi0 with a likelihood: features are the state, `instructions` the sentences.

    pi0 was trained with dimensions beyond A padded: data 0, noise random. Here their noise is one
    fixed draw that flows straight to 0, so that a chain of A dimensions says everything about a
    sample.
    """

    config: Pi0Config
    padding: torch.Tensor

    def __init__(self, config: Pi0Config) -> None:
        super().__init__(config)
        self.network = load_network(config)
        self.tokenizer = load_tokenizer(config)
        self.sde = FlowSDE(config.exploration, config.denoising_steps, config.chunk_length)
        spare = self._sizes.max_action_dim - config.action_dimension
        if spare < 0 or self._sizes.max_state_dim < config.feature_dimension:
            raise ParameterError(
                f'{config.action_dimension} actions and {config.feature_dimension} features; '
                f'allowed by {config.base}: up to {self._sizes.max_action_dim} and '
                f'{self._sizes.max_state_dim}'
            )
        generator = torch.Generator().manual_seed(0)
        padding = torch.randn(config.chunk_length, spare, generator=generator)
        self.register_buffer('padding', padding)

    def encode(self, inputs: PolicyInput) -> torch.Tensor:
        """Return the mean of the prefix's last hidden states, shape (B, H), float32."""
        output, mask = self._prefix(inputs)
        weight = mask[..., None].to(output.last_hidden_state.dtype)
        mean = (output.last_hidden_state * weight).sum(dim=1) / weight.sum(dim=1)
        return mean.float()

    def checkpoint_tensors(self) -> dict[str, torch.Tensor]:
        """Return what differs from the base weights: what trains, and the policy's own buffers."""
        fixed = {name for name, p in self.named_parameters() if not p.requires_grad}
        fixed |= {f'network.{name}' for name, _ in self.network.named_buffers()}
        return {name: t for name, t in self.state_dict().items() if name not in fixed}

    @property
    def _sizes(self) -> Any:
        return self.network.config

    def _prefix(self, inputs: PolicyInput) -> tuple[Any, torch.Tensor]:
        """Run the vision-language model once; returns its output with the cache, and the mask."""
        if len(inputs.instructions) != len(inputs.features):
            raise PolicyError(
                f'{len(inputs.instructions)} instructions for {len(inputs.features)} rows; '
                'allowed: one a row'
            )
        model, vision = self.network.model, self._sizes.vlm_config.vision_config
        device, dtype = inputs.features.device, self.network.dtype
        images = [inputs.images[role] for role in self.config.roles]
        pixels = torch.stack([pictures(i, vision.image_size) for i in images], dim=1).to(dtype)
        cameras = torch.ones(pixels.shape[:2], dtype=torch.bool, device=device)
        tokens, mask = prompt_tokens(
            self.tokenizer,
            inputs.instructions,
            image_token=self._sizes.vlm_config.image_token_id,
            image_tokens=len(images) * (vision.image_size // vision.patch_size) ** 2,
            text_length=self.config.text_length,
        )
        tokens, mask = tokens.to(device), mask.to(device)
        embedded = model.embed_prefix(tokens, pixels, cameras)
        output = model.vlm(
            inputs_embeds=embedded,
            attention_mask=mask,
            position_ids=mask.cumsum(dim=-1) - 1,
            token_type_ids=torch.zeros_like(tokens),
            use_cache=True,
        )
        return output, mask

    def _state(self, inputs: PolicyInput) -> torch.Tensor:
        state = self.normaliser(inputs.features)
        return padded(state, self._sizes.max_state_dim).to(self.network.dtype)

    def _velocity(self, inputs: PolicyInput) -> Velocity:
        output, mask = self._prefix(inputs)
        cache, state = output.cache, self._state(inputs)
        length = cache.get_seq_length()

        def velocity(point: torch.Tensor, step: int) -> torch.Tensor:
            noise_part = 1.0 - step / self.config.denoising_steps
            spare = (noise_part * self.padding).expand(len(point), -1, -1)
            told = self.network(
                state=state,
                noise=torch.cat((point, spare), dim=2).to(self.network.dtype),
                timestep=torch.full((len(point),), noise_part, device=point.device),
                attention_mask=mask,
                cache=cache,
            )
            cache.crop(length - cache.get_seq_length())
            return -told.logits[..., : self.config.action_dimension].to(point.dtype)

        return velocity

    def _imitation_loss(
        self, inputs: PolicyInput, actions: torch.Tensor, generator: torch.Generator
    ) -> torch.Tensor:
        """Return pi0's own flow loss by element, times drawn as pi0 draws them."""
        sizes, dtype = self._sizes, self.network.dtype
        shape = (*actions.shape[:2], sizes.max_action_dim)
        noise = torch.randn(shape, generator=generator).to(actions.device, dtype)
        times = self._times(len(actions), generator).to(actions.device)
        output, mask = self._prefix(inputs)
        told = self.network(
            state=self._state(inputs),
            noise=noise,
            timestep=times,
            actions=padded(actions, sizes.max_action_dim).to(dtype),
            attention_mask=mask,
            cache=output.cache,
        )
        loss: torch.Tensor = told.loss[..., : self.config.action_dimension].float()
        return loss

    def _times(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return pi0's beta-distributed times, 1 is noise, by the inverse distribution."""
        from scipy.special import betaincinv

        sizes = self._sizes
        uniform = torch.rand(count, generator=generator, dtype=torch.float64).numpy()
        beta = betaincinv(sizes.time_sampling_beta_alpha, sizes.time_sampling_beta_beta, uniform)
        times = beta * sizes.time_sampling_scale + sizes.time_sampling_offset
        return torch.as_tensor(times, dtype=torch.float32)
