"""Parameters of policy_node."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter


@dataclass(frozen=True, kw_only=True)
class PolicyParameters:
    """Which policy gives chunks, and when it is asked."""

    policy: str = parameter(
        'expert',
        description='expert (scripted, privileged), flow or diffusion (shipped for the body), '
        "checkpoint, or remote (openpi's websocket protocol).",
        choices=('expert', 'flow', 'diffusion', 'checkpoint', 'remote'),
    )
    checkpoint: str = parameter('', description='Folder of the checkpoint, where one is used.')
    server: str = parameter('', description='Server of a remote policy, ws://host:port.')
    lockstep: bool = parameter(
        False, description='The body waits for each chunk: ask once for each, by exact stamps.'
    )
    chunk_length: int = parameter(
        0,
        description='Rows of a chunk of the expert; 0 = 8 in lock-step, 0.8 s in real time.',
        bounds=(0, 200),
    )
    replan_steps: int = parameter(
        0,
        description='Control periods between two chunks in real time; 0 = half a chunk.',
        bounds=(0, 200),
        read_only=False,
    )
    heartbeat: bool = parameter(
        True,
        description='Tell an arm 50 times a second that this process lives; no simulator asks.',
    )
    autostart: bool = parameter(
        True, description='Configure and activate at start, without a lifecycle manager.'
    )

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        check_parameters(self)
