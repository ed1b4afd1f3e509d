"""Where a schedule may stop: the rule of a protocol, looked at after every episode, in order.

Only the first episodes of the schedule without a hole count, and what the rule decides on is the
shortest such beginning, so the decision is the same whoever played the episodes in which order.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.episode_record import EpisodeRecord
from structrl_ros.evaluation.paired import EpisodeKey
from structrl_ros.evaluation.protocol import StopRule
from structrl_ros.evaluation.protocol import Trial
from structrl_ros.evaluation.sequential import SequentialTest


@dataclass(frozen=True, slots=True)
class Stand:
    """Where an evaluation stands.

    Attributes:
        counted: Records that count, in the order of the schedule; those that were played beyond a
            decision do not.
        open: Trials that are still to be played, in order.
        decision: What the rule decided, in words; '' as long as it did not, or there is no rule.
    """

    counted: tuple[EpisodeRecord, ...]
    open: tuple[Trial, ...]
    decision: str


def stand_of(
    trials: Sequence[Trial], records: Mapping[int, EpisodeRecord], rule: StopRule
) -> Stand:
    """Return what counts and what is left.

    Args:
        trials: The schedule.
        records: Number of the trial to its record.
        rule: Of the protocol.

    Raises:
        ParameterError: If the rule needs two policies and there are others.
    """
    if rule.rule == 'none':
        counted = tuple(records[t.number] for t in trials if t.number in records)
        return Stand(counted, tuple(t for t in trials if t.number not in records), '')
    if rule.rule == 'rate':
        return _by_rate(trials, records, rule)
    return _by_pairs(trials, records, rule)


def _by_rate(
    trials: Sequence[Trial], records: Mapping[int, EpisodeRecord], rule: StopRule
) -> Stand:
    test = SequentialTest(low=rule.low, high=rule.high, error=rule.alpha)
    counted: list[EpisodeRecord] = []
    left: list[Trial] = []
    said: dict[str, str] = {}
    for code in dict.fromkeys(trial.code for trial in trials):
        successes = n = 0
        mine = [trial for trial in trials if trial.code == code]
        for place, trial in enumerate(mine):
            record = records.get(trial.number)
            if record is None:
                left += [t for t in mine[place:] if t.number not in records]
                counted += [records[t.number] for t in mine[place:] if t.number in records]
                break
            counted.append(record)
            successes, n = successes + record.success, n + 1
            decision = test.decide(successes, n)
            if decision != 'go on':
                bound = (
                    f'at least {rule.high:g}' if decision == 'higher' else f'at most {rule.low:g}'
                )
                said[code] = f'{code}: {bound} ({successes} of {n})'
                break
    counted.sort(key=lambda record: record.number)
    left.sort(key=lambda trial: trial.number)
    is_decided = bool(said) and not left
    return Stand(tuple(counted), tuple(left), '; '.join(said.values()) if is_decided else '')


def _by_pairs(
    trials: Sequence[Trial], records: Mapping[int, EpisodeRecord], rule: StopRule
) -> Stand:
    codes = sorted({trial.code for trial in trials})
    if len(codes) != 2:
        raise ParameterError(f'stop rule paired: needs two policies, got {len(codes)}')
    test = SequentialTest(low=1.0 - rule.high, high=rule.high, error=rule.alpha)
    half: dict[EpisodeKey, EpisodeRecord] = {}
    paired: list[EpisodeRecord] = []
    wins = dict.fromkeys(codes, 0)
    for trial in trials:
        record = records.get(trial.number)
        if record is None:
            break
        other = half.pop(record.key, None)
        if other is None:
            half[record.key] = record
            continue
        paired += [other, record]
        if record.success != other.success:
            wins[record.code if record.success else other.code] += 1
            decision = test.decide(wins[codes[0]], sum(wins.values()))
            if decision != 'go on':
                winner, loser = codes if decision == 'higher' else codes[::-1]
                text = f'{winner} wins at least {rule.high:g} of the pairs that one alone wins'
                text += f' ({wins[winner]} to {wins[loser]})'
                return Stand(tuple(sorted(paired, key=lambda r: r.number)), (), text)
    counted = tuple(records[t.number] for t in trials if t.number in records)
    return Stand(counted, tuple(t for t in trials if t.number not in records), '')
