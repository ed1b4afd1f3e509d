"""A checkpoint as the policy of a simulated body, for policy_node and for evaluations here."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from structrl_ros.errors import CheckpointError
from structrl_ros.sim.libero.tasks import find_task
from structrl_ros.sim.registry import default_task
from structrl_ros.sim.state_twin import StateTwin
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import Observation
from structrl_ros.types import PolicySpec
from structrl_ros.types import Subtask

#: Words for the policies that are shipped: what begins the name of a body's folder.
SHIPPED = {'flow': '', 'diffusion': 'diffusion_'}


def shipped_checkpoint(body: str, policy: str = 'flow', task: str = '') -> Path:
    """Return the folder of the policy that is shipped for a body.

    Args:
        body: Name in the registry of bodies.
        policy: 'flow' or 'diffusion'.
        task: A diffusion policy knows one task; '' takes that of the body's first.

    Raises:
        CheckpointError: If none is.
        SimulationError: If LIBERO, the body of diffusion policies, has no such task.
    """
    begin = SHIPPED[policy]
    folders = _shipped_folders(begin)
    if body not in folders:
        known = ', '.join(sorted({name.partition('_')[0] for name in folders})) or 'none'
        raise CheckpointError(
            f'no {policy} policy is shipped for body {body!r}; shipped for: {known}'
        )
    if policy == 'flow' or not task:
        return folders[body]
    task = find_task(task).id
    if task == default_task(body):
        return folders[body]
    own = f'{body}_{task.replace("/", "_")}'
    if own not in folders:
        mine = sorted(name for name in folders if name.startswith(f'{body}_'))
        tasks = [name.removeprefix(f'{body}_').replace('_', '/') for name in mine]
        raise CheckpointError(
            f'no {policy} policy is shipped for task {task!r}; shipped for: '
            f'{", ".join([default_task(body), *tasks])}'
        )
    return folders[own]


def _shipped_folders(begin: str) -> dict[str, Path]:
    """Return the folders of one kind of policy, by what follows the beginning of their names."""
    from structrl_ros.models import checkpoints

    found = [p.parent for p in Path(checkpoints.__path__[0]).glob(f'{begin}*/policy.safetensors')]
    return {
        folder.name.removeprefix(begin): folder
        for folder in sorted(found)
        if begin or '_' not in folder.name
    }


class LearnedPolicy:
    """A checkpoint that acts on a body; one that sees state vectors reads them off a twin.

    Such a policy is privileged: its body must be a simulated one that tells a state vector. The
    twin plays what is on its way already, so that its chunks continue from there in real time.
    One that sees the arm's own state (`PROPRIOCEPTION`) and pictures needs none of that.
    """

    def __init__(self, folder: Path, body: str, **options: Any) -> None:
        """Load the checkpoint.

        Args:
            folder: Of the checkpoint.
            body: Name in the registry of bodies.
            **options: Of the body, for its twin.

        Raises:
            CheckpointError: If it cannot be read, or was trained on another state vector.
            ParameterError: If it needs a state vector and the body tells none.
        """
        from structrl_ros.models.checkpoint import load_policy
        from structrl_ros.models.checkpoint import read_config
        from structrl_ros.models.policies.card import read_card
        from structrl_ros.models.policies.deployed import DeployedPolicy
        from structrl_ros.models.policies.proprioception import PROPRIOCEPTION
        from structrl_ros.models.policies.proprioception import read_proprioception

        self._twin: StateTwin | None = None
        names = read_config(folder).feature_names
        sees_itself = names == PROPRIOCEPTION
        if names and not sees_itself:
            self._twin = StateTwin(body, **options)
        policy = load_policy(
            folder, feature_names=self._twin.feature_names if self._twin else None
        )
        reader = read_proprioception if sees_itself else None
        card = read_card(folder)
        self._policy = DeployedPolicy(
            policy,
            name=f'{policy.config.architecture} of {folder.name}',
            features=self._twin.observe if self._twin else reader,
            privileged=self._twin is not None,
            prompt=getattr(policy.config, 'prompt', 'instruction'),
            measured=card.measured,
            trained_by=card.trained_by,
        )
        self.spec: PolicySpec = dataclasses.replace(
            self._policy.spec, continues=self._twin is not None
        )

    def reset(self, episode: Episode) -> None:
        """Build the twin's scene, and begin the policy's noise anew."""
        if self._twin is not None:
            self._twin.place(episode.task, episode.seed, episode.initial_state)
        self._policy.reset(episode)

    def act(self, observation: Observation, subtask: Subtask, instruction: str) -> Float32:
        """Return actions, shape (chunk_length, 7)."""
        return self._policy.act(observation, subtask, instruction)

    def close(self) -> None:
        """Free the network and the twin; a second call does nothing."""
        self._policy.close()
        if self._twin is not None:
            self._twin.close()


class ShippedDiffusion:
    """The diffusion policies of a body, which know one task each: that of the episode acts."""

    def __init__(self, body: str) -> None:
        """Load the one of the body's first task; the others have the same form.

        Raises:
            CheckpointError: If none is shipped for the body, or it cannot be read.
        """
        self._body = body
        self._folder = shipped_checkpoint(body, 'diffusion')
        self._policy = LearnedPolicy(self._folder, body)
        self.spec: PolicySpec = self._policy.spec

    def reset(self, episode: Episode) -> None:
        """Take the policy of the episode's task.

        Raises:
            CheckpointError: If none is shipped for it.
        """
        folder = shipped_checkpoint(self._body, 'diffusion', episode.task)
        if folder != self._folder:
            newer = LearnedPolicy(folder, self._body)
            self._policy.close()
            self._folder, self._policy, self.spec = folder, newer, newer.spec
        self._policy.reset(episode)

    def act(self, observation: Observation, subtask: Subtask, instruction: str) -> Float32:
        """Return actions, shape (chunk_length, 7)."""
        return self._policy.act(observation, subtask, instruction)

    def close(self) -> None:
        """Free the network; a second call does nothing."""
        self._policy.close()
