"""Parameters of replayer_node."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter


@dataclass(frozen=True, kw_only=True)
class ReplayerParameters:
    """Which bag is played, what of it, and how fast."""

    bag: str = parameter(description='Folder of the bag.')
    play: str = parameter(
        'body+plan+verdict',
        description='Topics to play: what the body said, with or without plans and verdicts; '
        'all adds what was computed (subtasks, rewards, progress, chunks).',
        choices=('body', 'body+plan', 'body+plan+verdict', 'all'),
    )
    rate: float = parameter(
        1.0, description='Bag seconds a second.', bounds=(0.01, 100.0), read_only=False
    )
    start_s: float = parameter(0.0, description='Where to begin, seconds.', bounds=(0.0, None))
    paused: bool = parameter(False, description='Begin paused; see the service ~/pause.')
    loop: bool = parameter(False, description='Begin again at the end; /clock goes back then.')
    position_s: float = parameter(
        -1.0, description='Set it to seek to a time in seconds.', read_only=False
    )
    begin: str = parameter(
        'subscribers',
        description='When to begin: once there are subscribers, or, with all that came before the '
        'first chunk told, once somebody publishes a plan.',
        choices=('subscribers', 'plan'),
    )
    lockstep: bool = parameter(
        False,
        description='Play a chunk when a tracker has answered to the one before, instead of by '
        'time: a brain in lock-step then decides as it did live.',
    )
    subscribers: int = parameter(
        1,
        description='Subscribers of what a tracker needs to wait for before it begins.',
        bounds=(0, 100),
    )
    listeners: tuple[str, ...] = parameter(
        (), description='Nodes that must hear pictures before it begins, such as grm_node.'
    )
    wait_s: float = parameter(
        10.0,
        description='Longest wait for them, or in lock-step for an answer, seconds.',
        bounds=(0.0, 600.0),
    )

    def __post_init__(self) -> None:
        """Refuse what is not allowed."""
        check_parameters(self)
