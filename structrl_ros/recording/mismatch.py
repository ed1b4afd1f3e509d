"""Two bags, of a simulator and of an arm or any two: where are they apart, and by how much?

Every quantity has a tolerance, the difference from which on it is worth a look; the report ranks
by the difference in tolerances.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structrl_ros.errors import BagError
from structrl_ros.recording.mismatch_actions import compare_actions
from structrl_ros.recording.mismatch_entry import Mismatch
from structrl_ros.recording.mismatch_latency import compare_latencies
from structrl_ros.recording.mismatch_latency import latencies
from structrl_ros.recording.mismatch_pictures import compare_pictures
from structrl_ros.recording.mismatch_rates import compare_rates
from structrl_ros.recording.mismatch_signals import Signals
from structrl_ros.recording.mismatch_signals import read_signals
from structrl_ros.recording.mismatch_tracking import compare_tracking
from structrl_ros.recording.mismatch_tracking import fit_tracking
from structrl_ros.types import JsonObject

#: Version of the JSON document; a new field keeps it, a changed meaning raises it.
FORMAT = 1


@dataclass(frozen=True, slots=True)
class MismatchReport:
    """All lines, the largest first; those that the samples do not tell apart come last.

    `one_sided` says in a line each what only one bag holds; `signals` are what was read.
    """

    lines: tuple[Mismatch, ...]
    one_sided: tuple[str, ...]
    sim: Signals
    real: Signals

    @property
    def worth_a_look(self) -> tuple[Mismatch, ...]:
        """Lines that are evident and above their tolerance."""
        return tuple(line for line in self.lines if line.is_evident and line.size >= 1.0)

    def to_json(self) -> JsonObject:
        """Return the report as a JSON object."""
        document: Any = {
            'format': FORMAT,
            'sim': str(self.sim.bag),
            'real': str(self.real.bag),
            'lines': [
                {**asdict(m), 'size': m.size, 'is_evident': m.is_evident} for m in self.lines
            ],
            'one_sided': list(self.one_sided),
        }
        return _plain(document)


def compare_bags(
    sim: Path, real: Path, *, namespaces: tuple[str, str] = ('', '')
) -> MismatchReport:
    """Compare two bags.

    Args:
        sim: Folder of the first, as of a simulator.
        real: Folder of the second.
        namespaces: Of the arm in each bag, where it holds several.

    Raises:
        BagError: If a bag is missing, breaks the contract, or the two share nothing.
    """
    ours, theirs = read_signals(sim, namespaces[0]), read_signals(real, namespaces[1])
    lines = [
        *compare_latencies(ours, theirs),
        *compare_pictures(ours, theirs),
        *compare_actions(ours, theirs),
        *compare_tracking(ours, theirs),
        *compare_rates(ours, theirs),
    ]
    if not lines:
        raise BagError(f'{sim} and {real} hold nothing that can be compared')
    lines.sort(key=lambda m: (not m.is_evident, -m.size))
    return MismatchReport(tuple(lines), _one_sided(ours, theirs), ours, theirs)


def write_json(report: MismatchReport, path: Path) -> Path:
    """Write the JSON of a report.

    Raises:
        BagError: If the file cannot be written.
    """
    text = json.dumps(report.to_json(), indent=1, allow_nan=False, ensure_ascii=False)
    try:
        path.write_text(text + '\n', 'utf-8')
    except OSError as error:
        raise BagError(f'cannot write {path}: {error.strerror}') from error
    return path


def _one_sided(sim: Signals, real: Signals) -> tuple[str, ...]:
    """Return what only one bag tells, in a line each."""
    lines: list[str] = []
    for mine, other in ((sim, real), (real, sim)):
        lines += _missing(mine, other)
    widths = [s.actions().shape[1] for s in (sim, real)]
    if all(widths) and widths[0] != widths[1]:
        lines.append(f'actions have {widths[0]} and {widths[1]} dimensions: not compared')
    return tuple(lines)


def _missing(mine: Signals, other: Signals) -> Sequence[str]:
    """Return what `mine` holds and `other` does not."""
    found = [f'{t}' for t in mine.streams if t not in other.streams]
    found += [name for name in latencies(mine) if name not in latencies(other)]
    found += [
        f'tracking of the {kind}'
        for kind in ('way', 'turn')
        if fit_tracking(mine, kind) is not None and fit_tracking(other, kind) is None
    ]
    return [f'{name}: only in {mine.bag}' for name in found]


def _plain(value: Any) -> Any:
    """Return lists for tuples, and None for numbers that JSON does not know."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value
