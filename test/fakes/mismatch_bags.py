"""Bags of a small body whose latency, light, actions and lag are known, without ROS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from structrl_ros.recording.bag_writer import BagWriter
from structrl_ros.recording.encoding import encode
from structrl_ros.recording.encoding import encode_clock
from structrl_ros.recording.encoding import encode_image
from structrl_ros.recording.encoding import encode_pose
from structrl_ros.types import ActionChunk
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode

OWN = 'structrl_msgs/msg/'
PERIOD_NS = 50_000_000
ROWS = 8
START_NS = 1_000_000_000
#: Receipts lie this far from the body's clock.
WALL_NS = 1_700_000_000_000_000_000
TYPES = {
    'action_chunk': OWN + 'ActionChunk',
    'chunk_done': OWN + 'ChunkDone',
    'episode': OWN + 'Episode',
    'observation/ee_pose': 'geometry_msgs/msg/PoseStamped',
    'observation/head/image': 'sensor_msgs/msg/Image',
}


@dataclass(frozen=True, kw_only=True)
class World:
    """What is done to the recording; periods are of 50 ms."""

    chunks: int = 28
    latency_periods: int = 1
    answer_ms: int = 20
    brightness: float = 0.0
    blue: float = 0.0
    noise: float = 0.0
    blur: bool = False
    size: tuple[int, int] = (40, 32)
    scale: float = 1.0
    lag_s: float = 0.05
    gain: float = 0.9
    picture_delay_ns: int = 0
    lost_pictures: frozenset[int] = frozenset()
    lost_done: frozenset[int] = frozenset()
    namespace: str = ''
    poses: bool = True
    seed: int = 0
    is_wall: bool = False

    @property
    def start_ns(self) -> int:
        """Start of the episode on the body's clock: wall time, or a clock of its own."""
        return START_NS + (WALL_NS if self.is_wall else 0)


def write_world(path: Path, world: World = World(), *, more: tuple[World, ...] = ()) -> Path:
    """Write the bag of a world, or of several arms."""
    worlds = (world, *more)
    events = sorted((e for w in worlds for e in _events(w)), key=lambda e: e[:2])
    now = [0]
    with BagWriter(path, now_ns=lambda: now[0]) as writer:
        writer.add_topic('/clock', 'rosgraph_msgs/msg/Clock')
        for each in worlds:
            for topic, kind in TYPES.items():
                writer.add_topic(_name(each, topic), kind)
        for time_ns, _, topic, data in events:
            now[0] = time_ns if time_ns > WALL_NS else WALL_NS + time_ns
            writer.write(topic, data)
    return path


def _name(world: World, topic: str) -> str:
    return f'{world.namespace}/{topic}'


def _events(world: World) -> list[tuple[int, int, str, bytes]]:
    """Return (time, order at one time, topic, data)."""
    actions = _actions(world)
    steps = world.chunks * ROWS
    events = [(world.start_ns - 1, 1, _name(world, 'episode'), encode(_episode(world.start_ns)))]
    for k in range(world.chunks):
        stamp = world.start_ns + k * ROWS * PERIOD_NS
        wait = world.latency_periods * PERIOD_NS
        rows = actions[k * ROWS : (k + 1) * ROWS]
        chunk = ActionChunk(stamp, 1, k + 1, 'policy', 'ee_delta_pose', 0.05, rows)
        arrival = stamp + wait + world.answer_ms * 1_000_000 - PERIOD_NS // 2
        events.append((arrival, 3, _name(world, 'action_chunk'), encode(chunk)))
        if k not in world.lost_done:
            end = stamp + wait + ROWS * PERIOD_NS
            done = ChunkDone(end, 1, k + 1, ROWS, False, False, False, rows)
            events.append((end, 2, _name(world, 'chunk_done'), encode(done)))
    times = world.start_ns + PERIOD_NS * np.arange(steps + 20)
    if not world.namespace and not world.is_wall:
        events += [(int(t), 0, '/clock', encode_clock(int(t))) for t in times]
    events += _pictures(world, times) + (_poses(world, times, actions) if world.poses else [])
    return events


def _episode(start_ns: int) -> Episode:
    return Episode(start_ns - 1, 1, False, 'test', 'a task', 'do it', 0, 0)


def _actions(world: World) -> np.ndarray:
    """Return smooth actions, (steps, 7), with the gripper shut half of the time."""
    random = np.random.default_rng(5)
    steps = world.chunks * ROWS
    rough = random.normal(size=(steps + 8, 7))
    kernel = np.ones(4) / 4
    smooth = np.stack([np.convolve(rough[:, d], kernel, 'valid')[:steps] for d in range(7)], 1)
    found = np.clip(0.6 * world.scale * smooth, -1.0, 1.0)
    found[:, 6] = np.where(np.arange(steps) % 40 < 20, -1.0, 1.0)
    return found.astype(np.float32)


def _poses(world: World, times: np.ndarray, actions: np.ndarray) -> list:
    """Return poses that follow the commands late and not all the way."""
    begin = world.start_ns + world.latency_periods * PERIOD_NS
    knots = (begin + PERIOD_NS * np.arange(len(actions) + 1)) / 1e9
    way = np.vstack([np.zeros(3), np.cumsum(0.05 * actions[:, :3], axis=0)])
    late = times / 1e9 - world.lag_s
    place = np.stack([world.gain * np.interp(late, knots, way[:, d]) for d in range(3)], axis=1)
    topic = _name(world, 'observation/ee_pose')
    return [
        (int(t), 1, topic, encode_pose(int(t), (*p, 0.0, 0.0, 0.0, 1.0), 'base'))
        for t, p in zip(times, place, strict=True)
    ]


def _pictures(world: World, times: np.ndarray) -> list:
    random = np.random.default_rng(7 + world.seed)
    width, height = world.size
    base = np.random.default_rng(3).uniform(60.0, 140.0, (height // 4, width // 4, 3))
    scene = np.kron(base, np.ones((4, 4, 1)))
    if world.blur:
        scene = sum(np.roll(scene, (i, j), (0, 1)) for i in range(4) for j in range(4)) / 16.0
    topic, found = _name(world, 'observation/head/image'), []
    for number, t in enumerate(times[::2]):
        shown = scene + world.brightness + random.normal(0.0, 1e-9 + world.noise, scene.shape)
        shown[..., 2] += world.blue
        picture = np.clip(np.rint(shown), 0, 255).astype(np.uint8)
        if number not in world.lost_pictures:
            data = encode_image(int(t), picture, 'head_camera_optical')
            found.append((int(t) + world.picture_delay_ns, 1, topic, data))
    return found
