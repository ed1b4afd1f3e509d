"""The process of a Franka gripper: one blocking command at a time, the newest wish last.

A command takes a second and cannot be interrupted, and pylibfranka holds the interpreter's lock
meanwhile, so it lives apart from the arm. Closing is a grasp of whatever is between the fingers:
a `move` can hang on an object.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from typing import Any

from structrl_ros.drivers.fci_link import Ask
from structrl_ros.drivers.fci_link import Tell
from structrl_ros.drivers.fci_link import pack_json
from structrl_ros.drivers.fci_link import receive
from structrl_ros.drivers.fci_link import send
from structrl_ros.drivers.fci_link import unpack_json
from structrl_ros.drivers.fci_settings import FciSettings
from structrl_ros.errors import ArmError

#: Seconds between two looks at the width.
LOOK_S = 0.05


class GripperProcess:
    """Closes and opens as the driver wishes, and tells the width in between."""

    def __init__(self, settings: FciSettings, link: socket.socket, library: Any) -> None:
        """Connect to the gripper.

        Raises:
            Exception: Whatever the vendor's library raises.
        """
        self._settings = settings
        self._link = link
        self._library = library
        self._gripper = library.Gripper(settings.address)
        self._wish: bool | None = None
        self._done: bool | None = None

    def run(self) -> None:
        """Serve until the driver is gone or says so."""
        while self._hear():
            if self._wish is not None and self._wish != self._done:
                self._act(self._wish)
            self._tell(busy=False)
            time.sleep(LOOK_S)

    def _hear(self) -> bool:
        """Take all wishes, the newest counts; return whether to go on."""
        try:
            while (message := receive(self._link, wait=False)) is not None:
                kind, payload = message
                if kind == Ask.QUIT.value:
                    return False
                if kind == Ask.GRIP.value:
                    self._wish = payload == b'1'
        except ArmError:
            return False
        return True

    def _act(self, closed: bool) -> None:
        settings = self._settings
        self._tell(busy=True)
        self._done = closed
        try:
            if closed:
                wide = settings.open_width
                self._gripper.grasp(0.0, settings.grip_speed, settings.grip_force, wide, wide)
            else:
                self._gripper.move(settings.open_width, settings.grip_speed)
        except self._library.CommandException as error:
            self._done = None
            send(self._link, Tell.HALT, ' '.join(str(error).split()).encode())
            self._wish = None

    def _tell(self, *, busy: bool) -> None:
        width = float(self._gripper.read_once().width)
        send(self._link, Tell.WIDTH, pack_json({'width': width, 'busy': busy}))


def main() -> int:
    """Serve the driver at the socket whose number is the one argument."""
    link = socket.socket(fileno=int(sys.argv[1]))
    link.setblocking(True)
    message = receive(link, wait=True)
    assert message is not None
    settings = FciSettings.from_json(unpack_json(message[1]))
    try:
        import pylibfranka

        GripperProcess(settings, link, pylibfranka).run()
    except Exception as error:  # the process's last line: the driver must know why
        send(link, Tell.END, ' '.join(str(error).split()).encode())
        return 1
    return 0


if __name__ == '__main__':
    os._exit(main())  # the vendor's destructors wait for a controller that may be gone
