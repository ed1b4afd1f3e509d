"""The port of every policy that is trained here: chunks of actions with a likelihood."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field

import torch

from structrl_ros.errors import PolicyError
from structrl_ros.models.policies.action_map import ActionMap
from structrl_ros.models.policies.action_map import action_map
from structrl_ros.models.policies.config import PolicyConfig
from structrl_ros.models.policies.normaliser import FeatureNormaliser
from structrl_ros.types import Float32


@dataclass(frozen=True)
class PolicyInput:
    """What B episodes side by side see.

    Attributes:
        features: State vectors (or proprioception), shape (B, F), float32, not normalised.
        images: Camera role to upright RGB, shape (B, H, W, 3), uint8.
        instructions: One sentence a row, for policies that read it; length B, or empty.
    """

    features: torch.Tensor
    images: Mapping[str, torch.Tensor] = field(default_factory=dict)
    instructions: tuple[str, ...] = ()

    def rows(self, index: torch.Tensor) -> PolicyInput:
        """Return the rows of an index of integers, shape (N,), for a minibatch."""
        chosen = tuple(self.instructions[i] for i in index.tolist()) if self.instructions else ()
        images = {role: image[index] for role, image in self.images.items()}
        return PolicyInput(self.features[index], images, chosen)

    def to(self, device: torch.device | str) -> PolicyInput:
        """Return the same on another device."""
        images = {role: image.to(device) for role, image in self.images.items()}
        return PolicyInput(self.features.to(device), images, self.instructions)


@dataclass(frozen=True)
class Sample:
    """Chunks drawn, with what their likelihood needs.

    Attributes:
        actions: In the policy's own space, unclipped, shape (B, L, A), float32.
        chain: The denoising chain, shape (B, S + 1, L, A): `chain[:, 0]` is the first noise,
            `chain[:, S]` the actions.
        log_prob: Log-density of the chain by element, summed over the noisy denoising steps,
            shape (B, L, A); zero where nothing was noisy.
    """

    actions: torch.Tensor
    chain: torch.Tensor
    log_prob: torch.Tensor


class ChunkPolicy(torch.nn.Module, abc.ABC):
    """A network that draws chunks of actions and tells how likely it was to draw them.

    The likelihood is that of the executed chunk in StructRL's Eq. 1,
    rho = pi(a | o) / pi_old(a | o), kept by element so that a trainer may form one ratio a chunk,
    a row or an action dimension.

    The same batch size gives a row the same bits whatever the other rows hold.
    """

    config: PolicyConfig
    normaliser: FeatureNormaliser

    def __init__(self, config: PolicyConfig) -> None:
        super().__init__()
        self.config = config
        self.normaliser = FeatureNormaliser(config.feature_dimension)

    @property
    @abc.abstractmethod
    def noise_shape(self) -> tuple[int, int, int]:
        """Standard normal numbers that one chunk takes: (draws, L, A)."""

    @abc.abstractmethod
    def encode(self, inputs: PolicyInput) -> torch.Tensor:
        """Return what the policy sees as one vector, shape (B, H), for a critic that shares it."""

    @abc.abstractmethod
    def _sample(self, inputs: PolicyInput, noise: torch.Tensor, explore: bool) -> Sample:
        """Draw chunks; the inputs are checked."""

    @abc.abstractmethod
    def _log_prob(self, inputs: PolicyInput, chain: torch.Tensor) -> torch.Tensor:
        """Return the log-density of chains; the inputs are checked."""

    @abc.abstractmethod
    def _imitation_loss(
        self, inputs: PolicyInput, actions: torch.Tensor, generator: torch.Generator
    ) -> torch.Tensor:
        """Return the loss by element, shape (B, L, A); the inputs are checked."""

    @torch.no_grad()
    def sample(self, inputs: PolicyInput, noise: torch.Tensor, *, explore: bool) -> Sample:
        """Draw one chunk a row.

        Args:
            inputs: What the rows see.
            noise: Standard normal, shape (B, draws, L, A). Without exploration only `noise[:, 0]`
                is used, and shape (B, 1, L, A) will do.
            explore: Whether to add the exploration noise; without, the same first noise gives the
                same chunk (for a flow: the noise-free ODE).

        Raises:
            PolicyError: If a shape is wrong, or a number that goes in or comes out is not finite.
        """
        self._check(inputs)
        draws, *element = self.noise_shape
        if noise.shape != (len(inputs.features), draws, *element) and (
            explore or noise.shape != (len(inputs.features), 1, *element)
        ):
            raise PolicyError(
                f'noise has shape {tuple(noise.shape)}; '
                f'allowed: {(len(inputs.features), *self.noise_shape)}'
            )
        sample = self._sample(inputs, noise, explore)
        self._check_finite(sample.actions, 'actions')
        return sample

    def log_prob(self, inputs: PolicyInput, chain: torch.Tensor) -> torch.Tensor:
        """Return the log-density of chains under the present weights, with its gradient.

        Args:
            inputs: What the rows saw.
            chain: As in `Sample`, shape (B, S + 1, L, A).

        Returns:
            By element, summed over the noisy denoising steps, shape (B, L, A).

        Raises:
            PolicyError: If a shape is wrong, or a number that goes in or comes out is not finite.
        """
        self._check(inputs)
        self._check_chunks(chain[:, -1] if chain.ndim == 4 else chain, inputs, 'chain')
        log_prob = self._log_prob(inputs, chain)
        self._check_finite(log_prob, 'log-probabilities')
        return log_prob

    def imitation_loss(
        self,
        inputs: PolicyInput,
        actions: torch.Tensor,
        noise_generator: torch.Generator,
        *,
        valid: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return the loss of imitating chunks, shape (B,).

        Args:
            inputs: What the demonstrator saw.
            actions: What it did, in the policy's own space, shape (B, L, A).
            noise_generator: For the noise and the times of a flow.
            valid: Rows of the chunks to imitate, bool (B, L); all by default.

        Raises:
            PolicyError: If a shape is wrong or a number that goes in is not finite.
        """
        self._check(inputs)
        self._check_chunks(actions, inputs, 'actions')
        loss = self._imitation_loss(inputs, actions, noise_generator).mean(dim=2)
        if valid is None:
            return loss.mean(dim=1)
        weight = valid.to(loss.dtype)
        return (loss * weight).sum(dim=1) / weight.sum(dim=1).clamp(min=1.0)

    def to_body(self, actions: Float32) -> Float32:
        """Return the body's actions for the policy's own: (..., L, A) to (..., L, 7)."""
        return self._map.to_body(actions)

    def from_body(self, actions: Float32) -> Float32:
        """Return the policy's own actions for the body's: (..., L, 7) to (..., L, A)."""
        return self._map.from_body(actions)

    def fit_normalisers(self, features: Float32, actions: Float32) -> None:
        """Fit what the policy normalises.

        Args:
            features: What it is to see, shape (N, F).
            actions: What it is to do, in the body's own, shape (N, 7).

        Raises:
            PolicyError: If a shape is wrong, there is no row, or a number is not finite.
        """
        self.normaliser.fit(torch.from_numpy(features))

    def checkpoint_tensors(self) -> dict[str, torch.Tensor]:
        """Return what a checkpoint keeps: every weight and buffer by name."""
        return dict(self.state_dict())

    @property
    def _map(self) -> ActionMap:
        return action_map(self.config.action_map)

    def _check(self, inputs: PolicyInput) -> None:
        features, images = inputs.features, inputs.images
        if features.ndim != 2 or features.shape[1] != self.config.feature_dimension:
            raise PolicyError(
                f'features have shape {tuple(features.shape)}; '
                f'allowed: (B, {self.config.feature_dimension})'
            )
        self._check_finite(features, 'features')
        for role in self.config.roles:
            image = images.get(role)
            if image is None:
                raise PolicyError(f'no image of role {role!r}; got: {sorted(images) or "none"}')
            if (
                image.ndim != 4
                or len(image) != len(features)
                or image.shape[3] != 3
                or image.dtype != torch.uint8
            ):
                raise PolicyError(
                    f'image of role {role!r} is {image.dtype} {tuple(image.shape)}; '
                    f'allowed: uint8 ({len(features)}, H, W, 3)'
                )

    def _check_chunks(self, chunks: torch.Tensor, inputs: PolicyInput, what: str) -> None:
        allowed = (len(inputs.features), *self.noise_shape[1:])
        if chunks.shape != allowed:
            raise PolicyError(f'{what} end in shape {tuple(chunks.shape)}; allowed: {allowed}')
        self._check_finite(chunks, what)

    def _check_finite(self, values: torch.Tensor, what: str) -> None:
        finite = torch.isfinite(values)
        if bool(finite.all()):
            return
        rows = (~finite.flatten(1).all(dim=1)).nonzero().flatten().tolist()
        raise PolicyError(
            f'{what} of the {self.config.architecture} policy hold NaN or infinity in '
            f'{len(rows)} of {len(values)} rows, first row {rows[0]}; allowed: finite numbers',
            row=rows[0],
        )
