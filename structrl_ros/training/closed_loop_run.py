"""Runs the suite into a folder: nothing is played twice, nothing that was played is lost.

closed_loop.json   what is played; other settings are refused
episodes.jsonl     one line a finished episode, on the disk before the next begins
results.json       numbers, made anew after every run
results.md         the same as tables
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.closed_loop import AbstractInstruction
from structrl_ros.evaluation.closed_loop_results import LoopRecord
from structrl_ros.evaluation.closed_loop_results import loop_record_from_json
from structrl_ros.evaluation.closed_loop_results import summarise_loop
from structrl_ros.evaluation.closed_loop_results import summary_to_json
from structrl_ros.evaluation.closed_loop_tables import markdown_tables
from structrl_ros.models.whole_files import whole_file
from structrl_ros.training.closed_loop_player import LoopPlayer
from structrl_ros.training.episode_brain import Minds
from structrl_ros.training.folder_lock import FolderLock
from structrl_ros.training.journal import append_line
from structrl_ros.training.journal import read_journal
from structrl_ros.types import JsonObject

SETTINGS = 'closed_loop.json'
EPISODES = 'episodes.jsonl'
RESULTS = 'results.json'
TABLES = 'results.md'

#: Gives planner and monitor for an instruction; None where the sentence goes to the controller.
MakeMinds = Callable[[AbstractInstruction], Minds | None]


class LoopFolder:
    """A run of the suite that may have begun; one process at a time may hold it."""

    def __init__(self, path: Path, settings: JsonObject) -> None:
        """Begin a folder, or go on with one.

        Args:
            path: Made with its parents.
            settings: Plain JSON of all that an episode depends on besides planner, instruction and
                number.

        Raises:
            ParameterError: If it holds a run with other settings, or something else, or another
                process holds it.
        """
        self.path = path
        self.settings = settings
        self.records: dict[tuple[str, str, int], LoopRecord] = {}
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = FolderLock(path, 'closed loop')
        except OSError as error:
            raise ParameterError(f'{path}: {error.strerror}') from None
        try:
            self._begin()
            self._read()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let another process have it; a second call does nothing."""
        self._lock.close()

    def append(self, record: LoopRecord) -> None:
        """Keep a finished episode; it is on the disk when this returns.

        Raises:
            ParameterError: If the disk is full or refuses.
        """
        place = self.path / EPISODES
        try:
            with place.open('ab', buffering=0) as file:
                append_line(file.fileno(), place, record.to_json())
        except OSError as error:
            raise ParameterError(f'{place}: {error.strerror}') from None
        self.records[record.key] = record

    def save(self, order: Sequence[str]) -> JsonObject:
        """Write results.json and results.md, and return the first.

        Args:
            order: Names of instructions in the order of the suite.
        """
        place = {name: number for number, name in enumerate(order)}
        known = [r for r in self.records.values() if r.instruction in place]
        planners = list(dict.fromkeys(r.planner for r in known))
        known.sort(key=lambda r: (planners.index(r.planner), place[r.instruction], r.episode))
        rows = [summary_to_json(row) for row in summarise_loop(known)]
        document: JsonObject = {'format': 1, 'settings': self.settings, 'rows': rows}
        for name, text in (
            (RESULTS, json.dumps(document, indent=1)),
            (TABLES, markdown_tables(document)),
        ):
            with whole_file(self.path / name) as new:
                new.write_text(f'{text}\n', encoding='utf-8')
        return document

    def _begin(self) -> None:
        """Write the settings; refuse those of a run that was begun with others."""
        place = self.path / SETTINGS
        try:
            if not place.exists() and any(self.path.iterdir()):
                raise ParameterError(f'{self.path} is not empty and holds no run of the suite')
            text = place.read_text(encoding='utf-8') if place.exists() else None
            before = self.settings if text is None else json.loads(text)
        except (OSError, ValueError) as error:
            raise ParameterError(f'{place}: {error}') from None
        for key in dict.fromkeys([*before, *self.settings]):
            was, now = before.get(key), self.settings.get(key)
            if was != now:
                raise ParameterError(f'{self.path} was begun with {key} {was}, now {now}')
        with whole_file(place) as new:
            new.write_text(f'{json.dumps(self.settings, indent=1)}\n', encoding='utf-8')

    def _read(self) -> None:
        """Read what was played; a line that a kill cut short was never counted."""
        place = self.path / EPISODES
        records, length = read_journal(place, loop_record_from_json)
        self.records = {record.key: record for record in records}
        if length is not None:
            os.truncate(place, length)


def run_suite(
    folder: LoopFolder,
    player: LoopPlayer,
    instructions: Sequence[AbstractInstruction],
    planners: Mapping[str, MakeMinds],
    episodes: int,
    on_record: Callable[[LoopRecord], Any] = lambda record: None,
) -> None:
    """Play what is open, all planners on one scene before the next, which builds a scene once.

    Raises:
        StructRLError: If a scene or a controller cannot be made; what was played is kept.
    """
    for instruction in instructions:
        for episode in range(episodes):
            for name, make_minds in planners.items():
                if (name, instruction.name, episode) in folder.records:
                    continue
                record = player.play(instruction, episode, name, make_minds(instruction))
                folder.append(record)
                on_record(record)
