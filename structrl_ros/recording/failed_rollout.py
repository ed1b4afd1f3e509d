"""A recorded episode as an event model reviews it: chunks, pictures at their ends, potential.

Boundary 0 is the start of the episode, boundary k the end of its k-th chunk (`chunk_done`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from structrl_ros.errors import BagError
from structrl_ros.progress.frames import Frame
from structrl_ros.progress.online import EpisodeProgress
from structrl_ros.progress.online import OnlineModel
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.decoding import decode
from structrl_ros.recording.decoding import decode_image
from structrl_ros.recording.decoding import time_ns
from structrl_ros.recording.recorded_arm import recorded_arm
from structrl_ros.recording.run_events import RunEvents
from structrl_ros.recording.run_events import read_events
from structrl_ros.rewards.shaping import shaping_term
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import FailedRollout
from structrl_ros.types import Float32
from structrl_ros.types import Progress
from structrl_ros.types import SimulatorState
from structrl_ros.types import UInt8


@dataclass(frozen=True, slots=True)
class RecordedRollout:
    """A failed episode of a bag.

    Attributes:
        episode: Its start.
        end_reason: How it ended.
        stamps_ns: Time of each boundary, on the body's clock, length N + 1.
        executed: Actions of each chunk after limits, each (steps, D).
        rollout: What an event model is given; `views` at the boundaries that have pictures.
    """

    episode: Episode
    end_reason: str
    stamps_ns: tuple[int, ...]
    executed: tuple[Float32, ...]
    rollout: FailedRollout


def read_failed_rollout(
    bag: Path, roles: Sequence[str], number: int | None = None
) -> RecordedRollout:
    """Return a failed episode of a recording; without a number its main one.

    Args:
        bag: Folder of the bag.
        roles: Cameras whose pictures are wanted.
        number: Of the episode.

    Raises:
        BagError: If the bag is missing, damaged or was cut within the episode; if a topic that is
            needed was not recorded; if the episode succeeded or ran no chunk.
    """
    events = read_events(bag)
    found = events.main_episode() if number is None else number
    if found not in events.episode_numbers():
        have = ', '.join(map(str, events.episode_numbers()))
        raise BagError(f'{bag} has no episode {found}; it has {have}')
    own = events.of_episode(found)
    start, end = _ends(own, bag)
    stamps = _boundaries(own, start, bag)
    reader = BagReader(bag)
    views, chunks = _pictures(reader, roles, stamps)
    recorded = _recorded_potential(own, stamps)
    rollout = FailedRollout(
        task=start.task,
        instruction=start.instruction,
        chunks=len(stamps) - 1,
        views=views,
        frame_chunks=chunks,
        frame_stamps_ns=tuple(stamps[chunk] for chunk in chunks),
        proprioception=recorded_arm(reader, stamps),
        potential=np.array([p.potential for p in recorded]),
        negative_branch=np.array([p.negative_branch for p in recorded], dtype=bool),
        seed=start.seed,
        initial_state=start.initial_state,
    )
    done: list[ChunkDone] = own.of(ChunkDone)
    executed = tuple(d.executed[: d.executed_steps] for d in done)
    return RecordedRollout(start, end.end_reason, stamps, executed, rollout)


def recorded_states(bag: Path, recorded: RecordedRollout) -> list[SimulatorState]:
    """Return the simulator's state at each boundary, N + 1 of them.

    Raises:
        BagError: If one was not recorded, as on a real arm.
    """
    reader = BagReader(bag)
    topics = [t for t in reader.topics if t.endswith('privileged/state')]
    found: dict[int, SimulatorState] = {}
    for raw in reader.raw_messages(topics):
        state = decode(raw.msgtype, reader.decode(raw))
        if state.episode == recorded.episode.episode:
            found[state.stamp_ns] = state
    missing = [k for k, stamp in enumerate(recorded.stamps_ns) if stamp not in found]
    if missing:
        raise BagError(
            f'{bag}: no privileged/state after chunk {missing[0]} was recorded; only a simulated '
            'body in lock-step tells one after each'
        )
    return [found[stamp] for stamp in recorded.stamps_ns]


def with_asked_potential(recorded: RecordedRollout, online: OnlineModel) -> RecordedRollout:
    """Return the rollout with the potential that a progress model gives on its pictures.

    Raises:
        BagError: If a boundary has no picture, or the model gave no number.
    """
    rollout = recorded.rollout
    if rollout.frame_chunks != tuple(range(rollout.chunks + 1)):
        missing = sorted(set(range(rollout.chunks + 1)) - set(rollout.frame_chunks))
        raise BagError(
            f'no picture was recorded after chunk {missing[0]}; the progress model needs one '
            'after each'
        )
    start = recorded.episode
    progress = EpisodeProgress(start.episode, online, rollout.instruction, shaping_term)
    potential, gate = [0.0], [False]
    for boundary, stamp_ns in enumerate(recorded.stamps_ns):
        images = {role: view[boundary] for role, view in rollout.views.items()}
        frame = Frame(stamp_ns, images, dict.fromkeys(images, stamp_ns))
        if not boundary:
            progress.see_start(frame)
            continue
        answer = progress.step(frame)
        if not answer.valid:
            raise BagError(
                f'chunk {boundary}: the progress model gave nothing: {progress.problem}'
            )
        potential.append(answer.potential)
        gate.append(answer.negative_branch)
    asked = dataclasses.replace(
        rollout, potential=np.array(potential), negative_branch=np.array(gate)
    )
    return dataclasses.replace(recorded, rollout=asked)


def _ends(own: RunEvents, bag: Path) -> tuple[Episode, Episode]:
    episodes: list[Episode] = own.of(Episode)
    start = next((e for e in episodes if not e.ended), None)
    end = next((e for e in episodes if e.ended), None)
    if start is None:
        raise BagError(f'{bag}: the start of the episode was not recorded')
    number = start.episode
    if end is None:
        hint = '; finish the bag by: structrl bag repair' if own.is_cut else ''
        raise BagError(f'{bag}: the recording ends within episode {number}{hint}')
    if end.success:
        raise BagError(f'{bag}: episode {number} succeeded; there is no failure to review')
    return start, end


def _boundaries(own: RunEvents, start: Episode, bag: Path) -> tuple[int, ...]:
    done: list[ChunkDone] = own.of(ChunkDone)
    if not done:
        raise BagError(
            f'{bag}: no chunk_done of episode {start.episode} was recorded; there are no chunks '
            'to review'
        )
    numbers = [d.chunk for d in done]
    if numbers != list(range(1, len(done) + 1)):
        gap = next(k for k, n in enumerate(numbers, start=1) if n != k)
        raise BagError(f'{bag}: chunk_done {gap} of episode {start.episode} was not recorded')
    return (start.stamp_ns, *(d.stamp_ns for d in done))


def _recorded_potential(own: RunEvents, stamps: Sequence[int]) -> list[Progress]:
    """Return what grm_node said at each boundary, none of it if one is missing."""
    by_stamp = {p.stamp_ns: p for p in own.of(Progress) if p.valid}
    if not by_stamp or any(stamp not in by_stamp for stamp in stamps[1:]):
        return []
    first = dataclasses.replace(by_stamp[stamps[1]], potential=0.0, negative_branch=False)
    return [first, *(by_stamp[stamp] for stamp in stamps[1:])]


def _pictures(
    reader: BagReader, roles: Sequence[str], stamps: Sequence[int]
) -> tuple[Mapping[str, UInt8], tuple[int, ...]]:
    """Return the newest picture of each role at each boundary that all roles have one of."""
    chosen: dict[str, dict[int, UInt8]] = {}
    for role in roles:
        topics = [t for t in reader.topics if t.endswith(f'observation/{role}/image')]
        if topics and reader.topics[topics[0]].count:
            chosen[role] = _of_role(reader, topics, stamps)
    if not chosen:
        return {}, ()
    chunks = sorted(set.intersection(*(set(found) for found in chosen.values())))
    views = {
        role: np.stack([found[k] for k in chunks]) for role, found in chosen.items() if chunks
    }
    return views, tuple(chunks)


def _of_role(reader: BagReader, topics: Sequence[str], stamps: Sequence[int]) -> dict[int, UInt8]:
    """Return the last picture up to each boundary, and after the one before."""
    found: dict[int, tuple[int, UInt8]] = {}
    for raw in reader.raw_messages(topics):
        message = reader.decode(raw)
        stamp_ns = time_ns(message.header.stamp)
        boundary = int(np.searchsorted(stamps, stamp_ns))
        is_late = boundary == len(stamps) or (boundary == 0 and stamp_ns != stamps[0])
        if not is_late and stamp_ns > found.get(boundary, (-1,))[0]:
            found[boundary] = stamp_ns, decode_image(message)
    return {boundary: picture for boundary, (_, picture) in found.items()}
