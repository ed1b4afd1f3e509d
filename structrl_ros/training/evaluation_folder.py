"""The folder of an evaluation: nothing that was played is lost, nothing is played twice.

    evaluation.json   what is evaluated; another protocol or policy is refused
    episodes.jsonl    one line a finished episode, on the disk before the next begins
    sealed.json       which code name is which policy, where policies are blinded
    results.json      numbers, made anew after every run

Lines come in the order in which episodes ended; everything else is in that of the schedule.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.episode_record import EpisodeRecord
from structrl_ros.evaluation.episode_record import record_from_json
from structrl_ros.evaluation.protocol import PolicyChoice
from structrl_ros.evaluation.protocol import Protocol
from structrl_ros.evaluation.protocol import Trial
from structrl_ros.evaluation.protocol import fingerprint_of
from structrl_ros.evaluation.protocol import schedule
from structrl_ros.evaluation.results import RESULTS
from structrl_ros.evaluation.results import EvaluatedPolicy
from structrl_ros.evaluation.results import EvaluationResults
from structrl_ros.evaluation.results import save_results
from structrl_ros.evaluation.stopping import Stand
from structrl_ros.evaluation.stopping import stand_of
from structrl_ros.models.whole_files import whole_file
from structrl_ros.training.evaluated_policy import policy_fingerprint
from structrl_ros.training.folder_lock import FolderLock
from structrl_ros.training.journal import append_line
from structrl_ros.training.journal import read_journal
from structrl_ros.training.protocol_document import document_of_protocol
from structrl_ros.training.protocol_document import protocol_of_document
from structrl_ros.types import JsonObject

EVALUATION = 'evaluation.json'
EPISODES = 'episodes.jsonl'
SEALED = 'sealed.json'


class EvaluationFolder:
    """An evaluation that may have begun; one process at a time may hold it, any may read it."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Hold a folder that was begun; see `open_evaluation`.

        Args:
            path: Of the folder.
            read_only: Look at it alone, also while another process plays.

        Raises:
            ParameterError: If it is none, is broken, or another process holds it.
        """
        self.path = path
        self._document = _read(path / EVALUATION)
        self.protocol: Protocol = protocol_of_document(
            self._document.get('protocol'), where=str(path / EVALUATION)
        )
        self.codes: tuple[str, ...] = tuple(self._document['codes'])
        self.trials: tuple[Trial, ...] = schedule(self.protocol, self.codes)
        self.records: dict[int, EpisodeRecord] = {}
        self._file = -1
        self._lock: FolderLock | None = None
        if not read_only:
            self._lock = FolderLock(path, 'evaluation')
            place = path / EPISODES
            self._file = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._read_episodes()

    @property
    def stand(self) -> Stand:
        """What counts, what is left, and what the stopping rule decided."""
        return stand_of(self.trials, self.records, self.protocol.stop)

    def policies(self) -> dict[str, PolicyChoice]:
        """Return code to policy; it opens the seal for whoever makes the policies."""
        names = self._names()
        return {code: _choice(self.protocol, name) for code, name in names.items()}

    def append(self, record: EpisodeRecord) -> None:
        """Keep a finished episode; it is on the disk when this returns.

        Raises:
            ParameterError: If it was kept before, or the disk is full.
        """
        if record.number in self.records:
            raise ParameterError(f'{self.path}: episode {record.number} was kept before')
        append_line(self._file, self.path / EPISODES, record.to_json())
        self.records[record.number] = record

    def results(self) -> EvaluationResults:
        """Return the results so far; policies keep their code names until the end."""
        stand = self.stand
        is_told = not self.protocol.blinding or not stand.open
        names = self._names() if is_told else {}
        prints = self._document['fingerprints']
        return EvaluationResults(
            protocol=self.protocol.name,
            protocol_hash=self.protocol.fingerprint,
            body=self.protocol.body,
            success_rule=self.protocol.success,
            planned=len(self.trials),
            policies=tuple(
                EvaluatedPolicy(
                    code=code,
                    name=names.get(code, ''),
                    fingerprint=prints[names[code]] if is_told else '',
                )
                for code in self.codes
            ),
            episodes=stand.counted,
            stopped=stand.decision,
            details={
                'body_options': dict(self.protocol.body_options),
                'order': self.protocol.order,
                'blinding': self.protocol.blinding,
                'time_limit_s': self.protocol.time_limit_s,
            },
        )

    def save_results(self) -> EvaluationResults:
        """Write results.json, and return what it holds."""
        results = self.results()
        save_results(self.path / RESULTS, results)
        return results

    def close(self) -> None:
        """Let another process have it; a second call does nothing."""
        if self._lock is not None:
            os.close(self._file)
            self._lock.close()
            self._lock = None

    def _names(self) -> dict[str, str]:
        """Return code to name of the policy."""
        if not self.protocol.blinding:
            return {code: code for code in self.codes}
        sealed = _read(self.path / SEALED)
        broken = ParameterError(f'{self.path / SEALED} was changed: the seal is broken')
        try:
            names = json.loads(base64.b64decode(sealed['policies']))
        except (KeyError, TypeError, ValueError):
            raise broken from None
        if fingerprint_of(names) != self._document['seal']:
            raise broken
        return {code: names[code] for code in self.codes}

    def _read_episodes(self) -> None:
        """Read what was played; a line that a kill cut short was never counted."""
        place = self.path / EPISODES
        records, length = read_journal(place, record_from_json)
        for number, record in enumerate(records, 1):
            trial = self.trials[record.number] if record.number < len(self.trials) else None
            if trial is None or (trial.code, trial.start.key) != (record.code, record.key):
                raise ParameterError(f'{place}, line {number}: no episode of this protocol')
            if record.number in self.records:
                raise ParameterError(f'{place}, line {number}: episode {record.number} again')
            self.records[record.number] = record
        if length is not None and self._file >= 0:
            os.truncate(place, length)


def open_evaluation(path: Path, protocol: Protocol) -> EvaluationFolder:
    """Return the folder of an evaluation: a new one, or one to go on with.

    Args:
        path: Made with its parents.
        protocol: With the policies whose episodes are wanted.

    Raises:
        ParameterError: If there is no policy, or the folder holds another evaluation.
        CheckpointError: If a checkpoint is missing.
    """
    if not protocol.policies:
        raise ParameterError('no policy; allowed: policies in the protocol, or --policy')
    prints = {p.name: policy_fingerprint(p, protocol.body) for p in protocol.policies}
    if (path / EVALUATION).exists():
        _check_same(path, protocol, prints)
        folder = EvaluationFolder(path)
        folder.protocol = replace(folder.protocol, policies=protocol.policies)  # their paths now
        return folder
    try:
        path.mkdir(parents=True, exist_ok=True)
        is_empty = not [p for p in path.iterdir() if not p.name.startswith('.')]
    except OSError as error:
        raise ParameterError(f'folder {path}: {error.strerror}') from None
    if not is_empty and not (path / SEALED).exists():
        raise ParameterError(f'folder {path} is not empty and holds no evaluation; give a new one')
    names = [policy.name for policy in protocol.policies]
    document: JsonObject = {
        'format': 1,
        'protocol': document_of_protocol(protocol),
        'codes': names,
        'fingerprints': prints,
    }
    if protocol.blinding:
        document |= _seal(path, names)
    _write(path / EVALUATION, document)
    return EvaluationFolder(path)


def _seal(path: Path, names: list[str]) -> JsonObject:
    """Draw code names, keep the mapping in a file of its own, and return what is told."""
    codes = [chr(ord('A') + k) if k < 26 else f'policy {k + 1}' for k in range(len(names))]
    shuffled = list(names)
    secrets.SystemRandom().shuffle(shuffled)
    mapping = dict(zip(codes, shuffled, strict=True))
    text = base64.b64encode(json.dumps(mapping).encode()).decode()
    _write(path / SEALED, {'format': 1, 'policies': text})
    return {'codes': codes, 'seal': fingerprint_of(mapping)}


def _check_same(path: Path, protocol: Protocol, prints: dict[str, str]) -> None:
    """Refuse to go on with something else.

    Raises:
        ParameterError: Naming what differs.
    """
    document = _read(path / EVALUATION)
    before = protocol_of_document(document.get('protocol'), where=str(path / EVALUATION))
    if before.fingerprint != protocol.fingerprint:
        raise ParameterError(
            f'{path} was begun with another protocol ({before.fingerprint[:8]}, now '
            f'{protocol.fingerprint[:8]}); allowed: the same one, or a new folder'
        )
    for key in ('order', 'order_seed', 'blinding', 'stop'):
        if getattr(before, key) != getattr(protocol, key):
            raise ParameterError(
                f'{path} was begun with {key} {getattr(before, key)}, now {getattr(protocol, key)}'
            )
    for name in dict.fromkeys([*document['fingerprints'], *prints]):
        was, now = document['fingerprints'].get(name), prints.get(name)
        if was != now:
            word = 'is another one' if was and now else 'was not part' if now else 'is missing'
            raise ParameterError(f'{path}: policy {name!r} {word}; give a new folder')


def _choice(protocol: Protocol, name: str) -> PolicyChoice:
    return next(policy for policy in protocol.policies if policy.name == name)


def _write(path: Path, document: JsonObject) -> None:
    with whole_file(path) as place:
        place.write_text(f'{json.dumps(document, indent=1)}\n', encoding='utf-8')


def _read(path: Path) -> JsonObject:
    try:
        document: Any = json.loads(path.read_text(encoding='utf-8'))
    except FileNotFoundError:
        raise ParameterError(f'{path.parent} is no evaluation: {path.name} is missing') from None
    except (OSError, ValueError) as error:
        raise ParameterError(f'{path} cannot be read: {error}') from None
    if not isinstance(document, dict):
        raise ParameterError(f'{path}: must be an object, got {type(document).__name__}')
    return document
