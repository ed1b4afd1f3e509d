"""Reference pictures: a picture, the first or last frame of a bag, placement cards."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from PIL import UnidentifiedImageError

from structrl_ros.errors import BagError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.decoding import decode
from structrl_ros.recording.decoding import decode_image
from structrl_ros.recording.decoding import time_ns
from structrl_ros.types import UInt8

#: Name of the document in a folder of placement cards.
CARDS = 'cards.json'


@dataclass(frozen=True, slots=True)
class Reference:
    """A picture to match, what it is called, and how the scene is set up in words."""

    name: str
    text: str
    picture: UInt8


def read_references(path: Path, role: str) -> tuple[Reference, ...]:
    """Return the references of a place, one or more.

    Args:
        path: A picture; a bag or the directory of a run, whose first picture after the start of
            its first episode is taken; or a folder of placement cards.
        role: Camera role whose pictures are wanted.

    Raises:
        ParameterError: If there is no such place, or it holds no reference of the role.
        BagError: If a bag is damaged.
    """
    if (path / CARDS).is_file():
        return _of_cards(path, role)
    if (path / 'bag').is_dir():
        return (_of_bag(path / 'bag', role),)
    if path.is_dir():
        return (_of_bag(path, role),)
    return (Reference(path.name, '', read_picture(path)),)


def read_picture(path: Path) -> UInt8:
    """Return a picture file as RGB (H, W, 3).

    Raises:
        ParameterError: If there is none or it cannot be read.
    """
    try:
        with Image.open(path) as picture:
            return np.asarray(picture.convert('RGB'), dtype=np.uint8)
    except FileNotFoundError:
        raise ParameterError(f'reference {path}: no such file') from None
    except (OSError, UnidentifiedImageError) as error:
        raise ParameterError(f'reference {path} is no picture: {error}') from None


def last_pictures(bag: Path, roles: Sequence[str]) -> dict[str, UInt8]:
    """Return the last picture of each role that a bag holds, RGB (H, W, 3).

    Raises:
        ParameterError: If it holds no picture of any of the roles.
        BagError: If there is no bag, or it is damaged.
    """
    reader = BagReader(bag)
    found: dict[str, UInt8] = {}
    for role in roles:
        topics = [t for t in reader.topics if t.endswith(f'observation/{role}/image')]
        last = deque(reader.raw_messages(topics), maxlen=1)
        if last:
            found[role] = decode_image(reader.decode(last[0]))
    if not found:
        raise ParameterError(f'{bag} holds no picture of {", ".join(roles)}')
    return found


def scaled(picture: UInt8, width: int, height: int) -> UInt8:
    """Return a picture cut to the shape of another in its middle, and scaled to its size."""
    image = Image.fromarray(picture)
    if image.size != (width, height):
        ratio = min(image.width / width, image.height / height)
        across, down = width * ratio, height * ratio
        left, top = (image.width - across) / 2.0, (image.height - down) / 2.0
        box = (left, top, left + across, top + down)
        image = image.resize((width, height), Image.Resampling.BILINEAR, box=box)
    return np.asarray(image, dtype=np.uint8)


def _of_bag(bag: Path, role: str) -> Reference:
    reader = BagReader(bag)
    ending = f'observation/{role}/image'
    pictures = [t for t in reader.topics if t.endswith(ending)]
    episodes = [t for t in reader.topics if t.rpartition('/')[2] == 'episode']
    text, begin_ns = '', None
    for raw in reader.raw_messages([*pictures, *episodes]):
        message = reader.decode(raw)
        if raw.topic in episodes:
            start = decode(raw.msgtype, message)
            if not start.ended and begin_ns is None:
                begin_ns = start.stamp_ns
                text = f'{start.task}, seed {start.seed}, initial state {start.initial_state}'
        elif (begin_ns is None and not episodes) or (
            begin_ns is not None and time_ns(message.header.stamp) >= begin_ns
        ):
            return Reference(str(bag), text, decode_image(message))
    raise ParameterError(f'{bag} holds no picture of {role} in an episode to refer to')


def _of_cards(folder: Path, role: str) -> tuple[Reference, ...]:
    try:
        document = json.loads((folder / CARDS).read_text('utf-8'))
        found = [
            Reference(
                f'{card["task"]}, seed {card["seed"]}, initial state {card["initial_state"]}',
                card['text'],
                read_picture(folder / card['pictures'][role]),
            )
            for card in document['cards']
            if role in card['pictures']
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BagError(f'{folder / CARDS} cannot be read: {error!r}') from None
    if not found:
        raise ParameterError(f'{folder} holds no card with a picture of {role}')
    return tuple(found)
