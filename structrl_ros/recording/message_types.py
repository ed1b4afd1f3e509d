"""Message types by their `.msg` files: what a bag needs to be written and read without ROS."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

from rosbags.typesys import Stores
from rosbags.typesys import get_types_from_msg
from rosbags.typesys import get_typestore
from rosbags.typesys.store import Typestore

from structrl_ros.errors import BagError

PACKAGE = 'structrl_msgs'


def message_files() -> list[Path]:
    """Return the `.msg` files of structrl_msgs: of the ament prefixes, else of the source tree.

    Raises:
        BagError: If there are none.
    """
    prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    folders = [Path(p, 'share', PACKAGE, 'msg') for p in [*prefixes, sys.prefix]]
    folders.append(Path(__file__).resolve().parents[2] / PACKAGE / 'msg')
    for folder in folders:
        if files := sorted(folder.glob('*.msg')):
            return files
    raise BagError(
        f'no message definitions of {PACKAGE}; looked in {", ".join(map(str, folders))}'
    )


@cache
def message_types() -> Typestore:
    """Return a store of the standard types of ROS 2 Jazzy and of structrl_msgs.

    Callers share it and do not add to it; `fresh_message_types` gives one that they may change.
    """
    return fresh_message_types()


def fresh_message_types() -> Typestore:
    """Return a new store of the standard types and of structrl_msgs."""
    store = get_typestore(Stores.ROS2_JAZZY)
    found = {}
    for path in message_files():
        found.update(get_types_from_msg(path.read_text('utf-8'), f'{PACKAGE}/msg/{path.stem}'))
    store.register(found)
    return store
