"""Results of an evaluation: `results.json`, written by `structrl evaluate`, read by reports.

    results = load_results(Path('runs/compare/results.json'))
    for policy in results.policies:
        results.summary(policy.code).total.success.interval

The file holds the episodes (all that anything is computed from) and, for readers without this
package, the summaries. Loading takes the episodes and computes the summaries anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.episode_record import EpisodeRecord
from structrl_ros.evaluation.episode_record import record_from_json
from structrl_ros.evaluation.paired import EpisodeKey
from structrl_ros.evaluation.summary import PolicySummary
from structrl_ros.evaluation.summary import summarise
from structrl_ros.types import JsonObject

#: Version of results.json; a new field keeps it, a changed meaning raises it.
FORMAT = 1
#: Name of the file in the folder of an evaluation.
RESULTS = 'results.json'


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedPolicy:
    """A policy of an evaluation.

    Attributes:
        code: What its episodes carry: a code name while the evaluation is blinded.
        name: Its name in the protocol; '' while the mapping is sealed.
        fingerprint: SHA-256 of what it is (weights and config of a checkpoint); '' while sealed.
    """

    code: str
    name: str = ''
    fingerprint: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResults:
    """An evaluation, finished or not.

    Attributes:
        protocol: Name of the protocol.
        protocol_hash: SHA-256 of all that its numbers depend on; only equal ones are compared.
        body: What acted.
        success_rule: Who judged: 'truth', 'subtasks' or 'person'.
        planned: Episodes of the schedule, over all policies of this folder.
        policies: In the order of their codes.
        episodes: In the order of the schedule.
        stopped: What the stopping rule decided before the schedule was done; '' if it did not.
        details: More, for people: body options, title, notes.
    """

    protocol: str
    protocol_hash: str
    body: str
    success_rule: str
    planned: int
    policies: tuple[EvaluatedPolicy, ...]
    episodes: tuple[EpisodeRecord, ...]
    stopped: str = ''
    details: Mapping[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be played."""
        return bool(self.stopped) or len(self.episodes) >= self.planned

    def of(self, code: str) -> tuple[EpisodeRecord, ...]:
        """Return the episodes of a policy."""
        return tuple(episode for episode in self.episodes if episode.code == code)

    def outcomes(self, code: str) -> dict[EpisodeKey, bool]:
        """Return episode to success, for `paired.compare_paired`."""
        return {episode.key: episode.success for episode in self.of(code)}

    def summary(self, code: str) -> PolicySummary:
        """Return the numbers of a policy."""
        return summarise(code, self.episodes)

    def label(self, code: str) -> str:
        """Return the name of a policy, with its code name if it has one; that alone if sealed."""
        name = next((p.name for p in self.policies if p.code == code), '')
        return code if name in ('', code) else f'{name} ({code})'

    @property
    def headline(self) -> str:
        """Successes of each policy so far, in a line."""
        rates = [
            f'{self.label(p.code)} {sum(e.success for e in self.of(p.code))} of '
            f'{len(self.of(p.code))}'
            for p in self.policies
        ]
        return f'{self.protocol}: {", ".join(rates)}; {self.planned} planned'

    def to_json(self) -> JsonObject:
        """Return the file's document."""
        return {
            'format': self.format,
            'protocol': self.protocol,
            'protocol_hash': self.protocol_hash,
            'body': self.body,
            'success_rule': self.success_rule,
            'planned': self.planned,
            'is_complete': self.is_complete,
            'stopped': self.stopped,
            'details': dict(self.details),
            'policies': [
                {**asdict(p), 'summary': self.summary(p.code).to_json()} for p in self.policies
            ],
            'episodes': [episode.to_json() for episode in self.episodes],
        }


def save_results(path: Path, results: EvaluationResults) -> None:
    """Write results.json, whole or not at all.

    Raises:
        ParameterError: If the place cannot be written.
    """
    beside = path.with_name(f'.{path.name}.new')
    text = json.dumps(results.to_json(), indent=1, allow_nan=False)
    try:
        with beside.open('w', encoding='utf-8') as file:
            file.write(f'{text}\n')
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise ParameterError(f'cannot save {path}: {error.strerror}') from None


def load_results(path: Path) -> EvaluationResults:
    """Return the results of a file, or of a folder that holds results.json.

    Raises:
        ParameterError: If there is none, or it is of another format.
    """
    place = path / RESULTS if path.is_dir() else path
    try:
        document = json.loads(place.read_text(encoding='utf-8'))
    except FileNotFoundError:
        raise ParameterError(f'no results at {path}; allowed: a folder with {RESULTS}') from None
    except (OSError, ValueError) as error:
        raise ParameterError(f'{place} cannot be read: {error}') from None
    return results_from_json(document, str(place))


def results_from_json(document: Any, where: str = RESULTS) -> EvaluationResults:
    """Return the results of `EvaluationResults.to_json`.

    Raises:
        ParameterError: If it is no such document; the line begins with `where`.
    """
    number = document.get('format') if isinstance(document, dict) else None
    if number != FORMAT:
        raise ParameterError(f'{where}: format is {number!r}; allowed: {FORMAT}')
    try:
        return EvaluationResults(
            protocol=str(document['protocol']),
            protocol_hash=str(document['protocol_hash']),
            body=str(document['body']),
            success_rule=str(document['success_rule']),
            planned=int(document['planned']),
            policies=tuple(
                EvaluatedPolicy(code=p['code'], name=p['name'], fingerprint=p['fingerprint'])
                for p in document['policies']
            ),
            episodes=tuple(record_from_json(e) for e in document['episodes']),
            stopped=str(document['stopped']),
            details=dict(document['details']),
        )
    except ParameterError as error:
        raise ParameterError(f'{where}: {error}') from None
    except (KeyError, TypeError, ValueError) as error:
        raise ParameterError(f'{where}: {type(error).__name__} {error}') from None
