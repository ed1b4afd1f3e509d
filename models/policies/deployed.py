"""`DeployedPolicy`: a trained chunk policy as the policy of a robot."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np
import torch

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.models.policies.action_map import BODY_DIMENSION
from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.base import PolicyInput
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import MeasuredRate
from structrl_ros.types import Observation
from structrl_ros.types import PolicySpec
from structrl_ros.types import Subtask

#: Reads the state vector (F,) off an observation.
FeatureReader = Callable[[Observation], Float32]

#: What a policy that reads sentences is given.
PROMPTS = ('instruction', 'subtask')


class DeployedPolicy:
    """Chunks by the noise-free ODE; `ports.Policy`. Needs torch.

    The first noise of a chunk comes from a generator seeded by (seed, seed and initial state of
    the scene, chunk within the episode, from 0), so the same scene gives the same episode,
    whatever was played before.
    """

    def __init__(
        self,
        policy: ChunkPolicy,
        *,
        name: str,
        features: FeatureReader | None = None,
        privileged: bool = False,
        prompt: str = 'instruction',
        seed: int = 0,
        max_age_s: Mapping[str, float] | None = None,
        measured: Sequence[MeasuredRate] = (),
        trained_by: str = '',
    ) -> None:
        """Take a loaded policy.

        Args:
            policy: Of `load_policy`.
            name: For reports and records.
            features: Gives the state vector; needed where the policy has feature names.
            privileged: Whether `features` reads `Observation.simulator`.
            prompt: Which sentence a policy that reads one is given, of `PROMPTS`.
            seed: Of the first noise.
            max_age_s: Limits by role or 'proprioception', seconds.
            measured: Rates of the checkpoint's card.
            trained_by: Of the checkpoint's card.

        Raises:
            ParameterError: If the policy needs features and there is no reader, or the prompt is
                unknown.
        """
        config = policy.config
        if config.feature_names and features is None:
            raise ParameterError(
                f'policy {name} needs {config.feature_dimension} features; got no reader of them'
            )
        if prompt not in PROMPTS:
            raise ParameterError(f'prompt is {prompt!r}; allowed: {", ".join(PROMPTS)}')
        self.spec = PolicySpec(
            name=name,
            action_space=config.action_space,
            action_dimension=BODY_DIMENSION,
            chunk_length=config.chunk_length,
            roles=config.roles,
            max_age_s=dict(max_age_s or {}),
            privileged=privileged,
            control_rate_hz=config.control_rate_hz,
            measured=tuple(measured),
            trained_by=trained_by,
        )
        self._policy: ChunkPolicy | None = policy.eval()
        self._features = features
        self._prompt = prompt
        self._seed = seed
        self._scene = (0, 0)
        self._chunk = 0

    def reset(self, episode: Episode) -> None:
        """Begin the noise of an episode."""
        self._scene = (episode.seed, episode.initial_state)
        self._chunk = 0

    def act(self, observation: Observation, subtask: Subtask, instruction: str) -> Float32:
        """Return actions of the body, shape (chunk_length, 7).

        Raises:
            PolicyError: If an image is missing, a shape is wrong, a number is not finite, or the
                policy is closed.
            StaleDataError: If the reader of features lacks what it needs.
        """
        if self._policy is None:
            raise PolicyError(f'policy {self.spec.name} is closed')
        sentence = instruction if self._prompt == 'instruction' else subtask.phrase
        inputs = PolicyInput(self._read(observation), self._see(observation), (sentence,))
        first = torch.from_numpy(self._noise(self._policy.noise_shape[1:]))
        sample = self._policy.sample(
            inputs.to(self._device), first.to(self._device), explore=False
        )
        self._chunk += 1
        return self._policy.to_body(sample.actions[0].cpu().numpy())

    def close(self) -> None:
        """Free the network; a second call does nothing."""
        self._policy = None

    @property
    def _device(self) -> torch.device:
        assert self._policy is not None
        return self._policy.normaliser.mean.device

    def _noise(self, shape: tuple[int, ...]) -> Float32:
        generator = np.random.default_rng((self._seed, *self._scene, self._chunk))
        return generator.standard_normal((1, 1, *shape), dtype=np.float32)

    def _read(self, observation: Observation) -> torch.Tensor:
        if self._features is None:
            return torch.zeros(1, 0)
        values = np.asarray(self._features(observation), np.float32)
        return torch.from_numpy(np.atleast_2d(values).copy())

    def _see(self, observation: Observation) -> dict[str, torch.Tensor]:
        seen = {r: observation.images[r] for r in self.spec.roles if r in observation.images}
        return {role: torch.from_numpy(image[None].copy()) for role, image in seen.items()}
