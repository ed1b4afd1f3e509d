"""What every architecture's config has in common; needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from structrl_ros.errors import ParameterError
from structrl_ros.models.policies.action_map import ACTION_SPACE
from structrl_ros.models.policies.action_map import action_map
from structrl_ros.types import ROLES


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """What a checkpoint says of its policy; every field is plain JSON or such a dataclass.

    Attributes:
        feature_names: Layout of the state vector, length F.
        chunk_length: L, rows a chunk.
        action_map: Name in `action_map.ACTION_MAPS`.
        roles: Cameras that the policy looks at.
        control_rate_hz: Rate of the rows, that of the body it is trained on (tabletop: 10).
    """

    architecture: ClassVar[str] = ''

    feature_names: tuple[str, ...]
    chunk_length: int
    action_map: str = 'tabletop'
    roles: tuple[str, ...] = ()
    control_rate_hz: float = 10.0

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ParameterError: If one is out of range.
        """
        action_map(self.action_map)
        if self.chunk_length < 1:
            raise ParameterError(f'chunk_length is {self.chunk_length}; allowed: 1 and more')
        if not 0.0 < self.control_rate_hz <= 1000.0:
            raise ParameterError(f'control_rate_hz is {self.control_rate_hz}; allowed: (0, 1000]')
        if not self.feature_names and not self.roles:
            raise ParameterError('a policy needs feature_names or roles; got neither')
        unknown = sorted(set(self.roles) - set(ROLES))
        if unknown or len(set(self.roles)) < len(self.roles):
            raise ParameterError(
                f'roles are {list(self.roles)}; allowed: {list(ROLES)}, each once'
            )

    @property
    def feature_dimension(self) -> int:
        """F, numbers in a state vector."""
        return len(self.feature_names)

    @property
    def action_dimension(self) -> int:
        """A, numbers in a row of the policy's own actions."""
        return action_map(self.action_map).dimension

    @property
    def action_space(self) -> str:
        """The body's action space, that `to_body` ends in."""
        return ACTION_SPACE
