"""A driver's side of a process that speaks to a Franka: start it, hear it, end it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable

from structrl_ros.drivers.fci_link import Ask
from structrl_ros.drivers.fci_link import open_link
from structrl_ros.drivers.fci_link import pack_json
from structrl_ros.drivers.fci_link import receive
from structrl_ros.drivers.fci_link import send
from structrl_ros.drivers.fci_settings import FciSettings
from structrl_ros.errors import ArmError
from structrl_ros.threads import ONE_THREAD

#: Seconds that an arm may take to come to rest when its process is ended.
END_S = 5.0


class FciChild:
    """One process and the thread that hears it."""

    def __init__(
        self,
        module: str,
        settings: FciSettings,
        *,
        hear: Callable[[bytes, bytes], None],
        on_end: Callable[[], None],
    ) -> None:
        """Start the process.

        Args:
            module: Its name in this room.
            settings: Sent to it first.
            hear: Called with kind and payload of each message, in the thread.
            on_end: Called in the thread when the process is gone.
        """
        self._link, theirs = open_link()
        command = [sys.executable, '-m', f'structrl_ros.drivers.{module}', str(theirs.fileno())]
        self._process = subprocess.Popen(
            command,
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            env={**os.environ, **ONE_THREAD},
            start_new_session=True,  # a Ctrl-C at the terminal is for the node to handle
        )
        theirs.close()
        self._hear, self._on_end = hear, on_end
        self._thread = threading.Thread(target=self._listen, name=module, daemon=True)
        self.ask(Ask.START, pack_json(settings.to_json()))
        self._thread.start()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def ask(self, kind: Ask, payload: bytes = b'') -> bool:
        """Send a message; return False if the process is gone or does not read."""
        return send(self._link, kind, payload)

    def end(self) -> None:
        """Have the process end by itself, then by force."""
        self.ask(Ask.QUIT)
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.kill()
        self._thread.join(END_S)

    def kill(self) -> None:
        """End the process at once; nothing of it is heard afterwards."""
        self._process.kill()
        self._process.wait()
        self._thread.join(END_S)

    def _listen(self) -> None:
        self._link.settimeout(None)
        try:
            while True:
                message = receive(self._link, wait=True)
                if message is not None:
                    self._hear(*message)
        except ArmError:
            self._process.wait()
            self._link.shutdown(socket.SHUT_RDWR)
        finally:
            self._on_end()
