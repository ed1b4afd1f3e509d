"""Where `structrl calibrate capture` has its pictures from: live topics, or a recorded bag."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structrl_ros.calibration.board import Board
from structrl_ros.calibration.capture import Gate
from structrl_ros.calibration.capture import Offer
from structrl_ros.calibration.hand_eye import Setup
from structrl_ros.calibration.pairing import Pair
from structrl_ros.calibration.pairing import Pairing
from structrl_ros.calibration.samples import FILE
from structrl_ros.calibration.samples import Rig
from structrl_ros.calibration.samples import SampleFolder
from structrl_ros.camera_types import Intrinsics
from structrl_ros.errors import CalibrationError

#: Seconds without any pair after which a live capture gives up.
PATIENCE_S = 20.0
#: Seconds of one look at the topics.
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Source:
    """What a capture is taken from: intrinsics, frames, serial number, and the pairs."""

    intrinsics: Intrinsics | None
    camera_frame: str
    base_frame: str
    serial: str
    pairs: Iterator[Pair]


@dataclass(frozen=True, slots=True)
class Wish:
    """What is captured: how many samples, of what, with what in the user's own words."""

    setup: Setup
    board: Board
    role: str
    poses: int
    gripper_frame: str
    intrinsics: Intrinsics | None = None
    serial: str = ''


def capture(
    path: Path, wish: Wish, source: Source, tell: Callable[[Offer, Gate], None]
) -> SampleFolder:
    """Take samples until there are enough or the source ends.

    Args:
        path: A new folder.
        wish: What to take.
        source: Where from.
        tell: Called with what became of each picture.

    Raises:
        CalibrationError: If the folder holds samples already, or nobody knows the intrinsics.
    """
    if (path / FILE).exists():
        raise CalibrationError(f'{path} holds samples already; allowed: a new folder')
    intrinsics = wish.intrinsics or source.intrinsics
    if intrinsics is None:
        raise CalibrationError(
            'no camera_info came, so the intrinsics are unknown; give them: --intrinsics FILE'
        )
    rig = Rig(
        setup=wish.setup,
        board=wish.board,
        intrinsics=intrinsics,
        role=wish.role,
        serial=wish.serial or source.serial,
        base_frame=source.base_frame or 'base_link',
        gripper_frame=wish.gripper_frame,
        camera_frame=source.camera_frame or f'{wish.role}_camera_optical',
    )
    folder, gate = SampleFolder(path, rig), Gate(wish.board, wish.setup)
    for pair in source.pairs:
        offer = gate.offer(pair.image, pair.at)
        if offer.accepted:
            folder.add(pair.image, pair.stamp_ns, pair.at.pose)
        tell(offer, gate)
        if len(folder.samples) >= wish.poses:
            break
    return folder


def live_source(inbox: Any) -> Source:
    """Return what a `nodes.calibration_inbox.CalibrationInbox` hears, once it hears something.

    Raises:
        CalibrationError: If no picture with a pose came within PATIENCE_S.
    """
    first = _patient(inbox)
    for _ in range(20):  # camera_info has its own topic, and comes around the picture
        if inbox.intrinsics is not None:
            break
        first += inbox.wait(_LOOK_S)

    def pairs() -> Iterator[Pair]:
        yield from first
        while True:
            # The newest: detection is slower than cameras, and the hand may have moved on.
            yield _patient(inbox)[-1]

    return Source(inbox.intrinsics, inbox.camera_frame, inbox.base_frame, inbox.serial, pairs())


def bag_source(bag: Path, role: str, namespace: str = '') -> Source:
    """Return what a bag of the contract's topics holds.

    Raises:
        BagError: If there is no bag, or it is damaged.
        CalibrationError: If it holds no pictures or poses of this camera.
    """
    from structrl_ros.recording.bag_reader import BagReader

    reader = BagReader(bag)
    image, info, pose = (
        _topic(reader, f'{namespace}/observation/{name}')
        for name in (f'{role}/image', f'{role}/camera_info', 'ee_pose')
    )
    if not image or not pose:
        raise CalibrationError(
            f'{bag} lacks observation/{"ee_pose" if image else f"{role}/image"}; '
            f'topics: {", ".join(sorted(reader.topics))}'
        )
    infos = reader.messages([info]) if info else iter(())
    intrinsics = next((_intrinsics(message) for _, _, _, message in infos), None)
    frames = {
        topic: str(next(m.header.frame_id for _, _, _, m in reader.messages([topic])))
        for topic in (image, pose)
    }
    pairs = _bag_pairs(reader, image, pose)
    return Source(intrinsics, frames[image], frames[pose], '', pairs)


def _patient(inbox: Any) -> list[Pair]:
    for _ in range(round(PATIENCE_S / _LOOK_S)):
        if pairs := inbox.wait(_LOOK_S):
            found: list[Pair] = pairs
            return found
    reason = f'; the last fault: {inbox.fault}' if inbox.fault else ''
    raise CalibrationError(
        f'no picture with a pose at its stamp came within {PATIENCE_S:g} s: '
        f'picture {"came" if inbox.camera_frame else "did not come"}, '
        f'pose {"came" if inbox.base_frame else "did not come"}{reason}'
    )


def _topic(reader: Any, name: str) -> str:
    wanted = name.strip('/')
    return next((topic for topic in reader.topics if topic.strip('/') == wanted), '')


def _bag_pairs(reader: Any, image: str, pose: str) -> Iterator[Pair]:
    from structrl_ros.recording.decoding import decode_image
    from structrl_ros.recording.decoding import time_ns

    pairing = Pairing()
    for topic, _, _, message in reader.messages([image, pose]):
        stamp_ns = time_ns(message.header.stamp)
        if topic == image:
            pairing.add_image(stamp_ns, decode_image(message))
        else:
            p, q = message.pose.position, message.pose.orientation
            pairing.add_pose(stamp_ns, np.array([p.x, p.y, p.z, q.x, q.y, q.z, q.w]))
        yield from pairing.ready()


def _intrinsics(message: Any) -> Intrinsics:
    k = [float(value) for value in message.k]
    return Intrinsics(
        int(message.width),
        int(message.height),
        *(k[0], k[4], k[2], k[5]),
        tuple(float(value) for value in message.d),
        str(message.distortion_model) or 'plumb_bob',
    )
