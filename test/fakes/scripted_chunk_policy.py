"""A chunk policy without weights that plays the kinematic expert's skill, with noise on top."""

import numpy as np
import torch

from structrl_ros.models.policies.base import ChunkPolicy
from structrl_ros.models.policies.base import PolicyConfig
from structrl_ros.models.policies.base import Sample
from structrl_ros.sim.kinematic.expert import next_action
from structrl_ros.sim.kinematic.scene import Scene


class ScriptedPolicy(ChunkPolicy):
    """Reads the scene off the features of `KinematicStateBody`."""

    def __init__(self, feature_names, chunk_length=8, sigma=0.05, roles=()):
        super().__init__(
            PolicyConfig(
                feature_names=feature_names,
                chunk_length=chunk_length,
                action_map='identity',
                roles=roles,
            )
        )
        self.sigma = sigma
        self.spoil = None
        self.batches = []

    @property
    def noise_shape(self):
        return 2, self.config.chunk_length, 7

    def encode(self, inputs):
        return inputs.features

    def _sample(self, inputs, noise, explore):
        self.batches.append(inputs)
        meant = np.stack([self._play(row) for row in inputs.features.numpy().astype(np.float64)])
        own = torch.from_numpy(meant)
        own = own + self.sigma * noise[:, 1] if explore else own
        if self.spoil is not None:
            own[self.spoil] = torch.nan
        chain = torch.stack([noise[:, 0], own], dim=1)
        return Sample(own, chain, -(noise[:, 1] ** 2) if explore else torch.zeros_like(own))

    def _log_prob(self, inputs, chain):
        raise NotImplementedError

    def _imitation_loss(self, inputs, actions, generator):
        raise NotImplementedError

    def _play(self, row):
        actions = np.zeros((self.config.chunk_length, 7), np.float32)
        cans = int(row[14])
        if not cans:
            return actions
        scene = Scene(
            *(row[i : i + 3].copy() for i in (0, 3, 6)),
            finger=round(row[9], 4),
            command=row[10],
            held=int(row[11]),
            cans=row[15 : 15 + 3 * cans].reshape(-1, 3).copy(),
            basket=row[12:14].copy(),
        )
        for action in actions:
            left = [can for can in range(cans) if not scene.is_in_basket(can)]
            if left:
                can = scene.held if scene.held >= 0 else left[0]
                action[:] = next_action(scene, 'place', can)
            scene.step(action)
        return actions
