"""Which vision-language models review events: one here, one on a server, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from structrl_ros.errors import ParameterError

if TYPE_CHECKING:
    from structrl_ros.ports import EventModel


@dataclass(frozen=True, slots=True, kw_only=True)
class VlmChoice:
    """What the options of a command name; '' is none.

    Attributes:
        model: Folder or id of a local model.
        adapter: Folder of its LoRA adapter.
        server: Address of an OpenAI-compatible server.
        server_model: Name of the model there.
        roles: Cameras that are shown.
    """

    model: str = ''
    adapter: str = ''
    server: str = ''
    server_model: str = ''
    roles: tuple[str, ...] = ('head',)

    def __post_init__(self) -> None:
        """Refuse half of a choice.

        Raises:
            ParameterError: If an option lacks another.
        """
        if self.adapter and not self.model:
            raise ParameterError('--adapter needs --model, its base; got none')
        if bool(self.server) != bool(self.server_model):
            raise ParameterError('--server and --server-model go together; got one of them')

    def open(self) -> list[EventModel]:
        """Load what is named.

        Raises:
            CheckpointError: If a model cannot be had.
            ParameterError: If a package is missing, or the address is none.
        """
        found: list[EventModel] = []
        if self.model:
            from structrl_ros.models.events.vlm import LocalEvents
            from structrl_ros.models.vlm.loading import VlmSettings
            from structrl_ros.models.vlm.loading import load_vlm

            vlm = load_vlm(VlmSettings(model=self.model, adapter=self.adapter, threads=1))
            found.append(LocalEvents(vlm, self.roles))
        if self.server:
            from structrl_ros.models.events.vlm import ServerEvents
            from structrl_ros.models.vlm.chat_client import ChatSettings

            settings = ChatSettings(base_url=self.server, model=self.server_model)
            found.append(ServerEvents(settings, self.roles))
        return found
