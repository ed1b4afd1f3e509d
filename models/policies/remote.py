"""`RemotePolicy`: a policy that is served by openpi's websocket protocol.

The protocol, as openpi-client speaks it: the server opens with its metadata, each request is one
msgpack dictionary of arrays and strings, each answer one with `actions`; text instead of bytes is
the server's error. This client adds limits of time, so that a dead server is one clear line.
Needs openpi-client, websockets, and pillow where pictures are resized.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.errors import StaleDataError
from structrl_ros.models.policies.action_map import ACTION_SPACE
from structrl_ros.models.policies.action_map import BODY_DIMENSION
from structrl_ros.models.policies.policy_connection import PolicyConnection
from structrl_ros.models.policies.remote_state import STATE_PARTS
from structrl_ros.models.policies.remote_state import robot_state
from structrl_ros.types import ROLES
from structrl_ros.types import Episode
from structrl_ros.types import Float32
from structrl_ros.types import JsonObject
from structrl_ros.types import Observation
from structrl_ros.types import PolicySpec
from structrl_ros.types import Subtask
from structrl_ros.types import UInt8

PROMPTS = ('instruction', 'subtask')


@dataclass(frozen=True, kw_only=True)
class RemoteSettings:
    """Where the server is, and the keys that it wants; the defaults are openpi's LIBERO policy.

    Attributes:
        uri: ws://host:port or wss://...
        chunk_length: Rows to take of an answer, which may hold more.
        images: Camera role to key.
        image_size: Side that pictures are brought to, black around them; None sends them as is.
        state_key: Key of the robot's state; empty sends none.
        state_parts: What the state is made of, in order, of `STATE_PARTS`.
        position_offset: Metres added to the position, from the base frame to the server's.
        prompt_key: Key of the sentence.
        prompt: Which sentence, of `PROMPTS`.
        control_rate_hz: Rate of the rows.
        connect_timeout_s: Limit of connecting, with the server's metadata.
        timeout_s: Limit of an answer; a server may compile at the first.
        api_key: For the header `Authorization`; empty sends none.
    """

    uri: str
    chunk_length: int
    images: Mapping[str, str] = field(
        default_factory=lambda: {
            'head': 'observation/image',
            'left_wrist': 'observation/wrist_image',
        }
    )
    image_size: int | None = 224
    state_key: str = 'observation/state'
    state_parts: tuple[str, ...] = ('position', 'rotation_vector', 'fingers')
    position_offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    prompt_key: str = 'prompt'
    prompt: str = 'instruction'
    control_rate_hz: float = 20.0
    connect_timeout_s: float = 5.0
    timeout_s: float = 30.0
    api_key: str = field(default='', repr=False)

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ParameterError: If one is out of range.
        """
        if not self.uri.startswith(('ws://', 'wss://')):
            raise ParameterError(f'uri is {self.uri!r}; allowed: ws://host:port or wss://...')
        if self.chunk_length < 1:
            raise ParameterError(f'chunk_length is {self.chunk_length}; allowed: 1 and more')
        if unknown := sorted(set(self.images) - set(ROLES)):
            raise ParameterError(f'images name {unknown}; allowed roles: {list(ROLES)}')
        if unknown := sorted(set(self.state_parts) - set(STATE_PARTS)):
            raise ParameterError(f'state_parts name {unknown}; allowed: {list(STATE_PARTS)}')
        if self.prompt not in PROMPTS:
            raise ParameterError(f'prompt is {self.prompt!r}; allowed: {", ".join(PROMPTS)}')
        for name in ('connect_timeout_s', 'timeout_s', 'control_rate_hz'):
            value = getattr(self, name)
            if not 0.0 < value < math.inf:
                raise ParameterError(f'{name} is {value}; allowed: finite numbers above 0')


class RemotePolicy:
    """A policy behind a websocket; `ports.Policy`.

    A connection that failed is closed, and the next call opens a new one, so that a late answer
    is never taken for a new one.
    """

    def __init__(
        self, settings: RemoteSettings, *, max_age_s: Mapping[str, float] | None = None
    ) -> None:
        """Keep the settings; `reset` or `act` connect."""
        self.spec = PolicySpec(
            name='remote',
            action_space=ACTION_SPACE,
            action_dimension=BODY_DIMENSION,
            chunk_length=settings.chunk_length,
            roles=tuple(settings.images),
            max_age_s=dict(max_age_s or {}),
            control_rate_hz=settings.control_rate_hz,
        )
        self._settings = settings
        self._connection = PolicyConnection(
            settings.uri,
            connect_timeout_s=settings.connect_timeout_s,
            timeout_s=settings.timeout_s,
            api_key=settings.api_key,
        )

    @property
    def metadata(self) -> JsonObject:
        """What the server said of itself; empty before the first connection."""
        return self._connection.metadata

    def reset(self, episode: Episode) -> None:
        """Connect, if there is no connection, so that a server that is down shows at once.

        Raises:
            PolicyError: If the server cannot be reached.
        """
        self._connection.open()

    def act(self, observation: Observation, subtask: Subtask, instruction: str) -> Float32:
        """Return actions, shape (chunk_length, 7).

        Raises:
            PolicyError: If the server cannot be reached, is too slow, reports an error, or answers
                with a wrong shape or NaN.
            StaleDataError: If the observation lacks an image or the arm's state.
        """
        settings = self._settings
        request: dict[str, Any] = {
            key: self._picture(observation, role) for role, key in settings.images.items()
        }
        if settings.state_key:
            request[settings.state_key] = robot_state(
                observation, settings.state_parts, settings.position_offset
            )
        sentence = instruction if settings.prompt == 'instruction' else subtask.phrase
        request[settings.prompt_key] = sentence
        return self._checked(self._connection.ask(request))

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        self._connection.close()

    def _picture(self, observation: Observation, role: str) -> UInt8:
        image = observation.images.get(role)
        if image is None:
            raise StaleDataError(f'the remote policy needs an image of role {role!r}, got none')
        if self._settings.image_size is None:
            return np.ascontiguousarray(image)
        from openpi_client import image_tools

        size = self._settings.image_size
        resized: UInt8 = image_tools.resize_with_pad(np.ascontiguousarray(image), size, size)
        return resized

    def _checked(self, answer: JsonObject) -> Float32:
        uri, rows = self._settings.uri, self._settings.chunk_length
        if 'actions' not in answer:
            raise PolicyError(
                f'policy server {uri} answered without actions; got: {sorted(map(str, answer))}'
            )
        try:
            actions = np.array(answer['actions'], np.float32)
        except (TypeError, ValueError):
            raise PolicyError(f'policy server {uri} answered actions that are no array') from None
        if actions.ndim != 2 or len(actions) < rows or actions.shape[1] != BODY_DIMENSION:
            raise PolicyError(
                f'policy server {uri} answered actions of shape {actions.shape}; '
                f'allowed: ({rows} or more, {BODY_DIMENSION})'
            )
        if not np.isfinite(actions[:rows]).all():
            raise PolicyError(
                f'policy server {uri} answered NaN or infinity; allowed: finite numbers'
            )
        return np.clip(actions[:rows], -1.0, 1.0)
