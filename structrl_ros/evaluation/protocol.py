"""What an evaluation is: which episodes, whose, in which order, and who judges them.

A protocol is data; `training/protocol_document.py` reads one from YAML. Its schedule is a list of
trials: one episode of one policy from one start. Every policy meets the same starts, so that
comparisons are paired.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import numpy as np

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.paired import EpisodeKey
from structrl_ros.types import JsonObject

#: Version of protocol files; a changed meaning raises it.
FORMAT = 1
ORDERS = ('fixed', 'interleaved', 'shuffled')
#: The body of a protocol whose episodes a person sets up.
REAL_BODY = 'arm'


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementCard:
    """How a person sets up a start: in words, and a reference picture ('' for none)."""

    text: str
    picture: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolTask:
    """A task: its name, the sentence ('' for the body's own), and cards, one a start, in turn."""

    name: str
    instruction: str = ''
    cards: tuple[PlacementCard, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyChoice:
    """A policy to evaluate, as policy_node takes it."""

    name: str
    policy: str
    checkpoint: str = ''
    server: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """When to stop before the schedule is done.

    'rate' tests each policy: is its success at most `low`, or at least `high`? 'paired' tests
    which of two policies wins the pairs that only one of them wins: at most 1 - `high` of them, or
    at least `high`. `alpha` is the probability of a wrong decision on either side (Wald).
    """

    rule: str = 'none'
    alpha: float = 0.05
    low: float = 0.5
    high: float = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """An evaluation.

    Attributes:
        name: For people.
        body: Who acts: a body of the registry, or `REAL_BODY`.
        tasks: In order.
        episodes: Starts of each task.
        seeds: Seeds of the scenes, one a start, in turn; a single one counts up from there.
        initial_states: Of a start, in turn.
        success: Who judges, one of `episode_record.SUCCESS_RULES`.
        time_limit_s: Seconds of the body for an episode; 0: the body's own horizon alone.
        order: One of `ORDERS`.
        order_seed: Of a shuffled order.
        blinding: Whether policies carry code names until the end.
        policies: Whose episodes.
        stop: When to stop early.
        body_options: Of the body's constructor; a running body takes none.
    """

    name: str
    body: str
    tasks: tuple[ProtocolTask, ...]
    episodes: int
    seeds: tuple[int, ...] = (0,)
    initial_states: tuple[int, ...] = (0,)
    success: str = 'truth'
    time_limit_s: float = 0.0
    order: str = 'fixed'
    order_seed: int = 0
    blinding: bool = False
    policies: tuple[PolicyChoice, ...] = ()
    stop: StopRule = field(default_factory=StopRule)
    body_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that an episode's outcome depends on besides the policy."""
        document: JsonObject = {
            'body': self.body,
            'body_options': dict(self.body_options),
            'starts': [
                [*start.key, start.instruction, start.card and start.card.text]
                for start in starts_of(self)
            ],
            'success': self.success,
            'time_limit_s': self.time_limit_s,
        }
        return fingerprint_of(document)

    def task(self, name: str) -> ProtocolTask:
        """Return a task by its name."""
        return next(task for task in self.tasks if task.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStart:
    """From where an episode starts; `card` is given where a person sets it up."""

    task: str
    seed: int
    initial_state: int
    repetition: int
    instruction: str = ''
    card: PlacementCard | None = None

    @property
    def key(self) -> EpisodeKey:
        """What pairs are made by."""
        return self.task, self.seed, self.initial_state, self.repetition


@dataclass(frozen=True, slots=True)
class Trial:
    """One episode of the schedule: its place, the policy's code, the start."""

    number: int
    code: str
    start: PlannedStart


def fingerprint_of(document: JsonObject) -> str:
    """Return the SHA-256 of plain JSON, whatever the order of its keys."""
    text = json.dumps(document, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()


def starts_of(protocol: Protocol) -> tuple[PlannedStart, ...]:
    """Return the starts of every task, in the order of the tasks."""
    seeds, states = protocol.seeds, protocol.initial_states
    starts: list[PlannedStart] = []
    for task in protocol.tasks:
        seen: Counter[tuple[int, int]] = Counter()
        for k in range(protocol.episodes):
            seed = seeds[0] + k if len(seeds) == 1 else seeds[k % len(seeds)]
            state = k % len(task.cards) if task.cards else states[k % len(states)]
            starts.append(
                PlannedStart(
                    task=task.name,
                    seed=seed,
                    initial_state=state,
                    repetition=seen[seed, state],
                    instruction=task.instruction,
                    card=task.cards[state] if task.cards else None,
                )
            )
            seen[seed, state] += 1
    return tuple(starts)


def schedule(protocol: Protocol, codes: Sequence[str]) -> tuple[Trial, ...]:
    """Return the trials of the policies with these codes, in the order of the protocol.

    'fixed' plays one policy after the other. 'interleaved' plays all policies from each start,
    beginning with another one each time. 'shuffled' is a permutation by `order_seed`.

    Raises:
        ParameterError: If there is no policy, or one comes twice.
    """
    if not codes or len(set(codes)) != len(codes):
        raise ParameterError(f'policies {list(codes)}; allowed: one or more, each once')
    starts = starts_of(protocol)
    pairs = [(code, start) for code in codes for start in starts]
    if protocol.order == 'interleaved':
        turns = [(k, i) for k in range(len(starts)) for i in range(len(codes))]
        pairs = [(codes[(k + i) % len(codes)], starts[k]) for k, i in turns]
    elif protocol.order == 'shuffled':
        places = np.random.default_rng(protocol.order_seed).permutation(len(pairs))
        pairs = [pairs[place] for place in places.tolist()]
    return tuple(Trial(number, code, start) for number, (code, start) in enumerate(pairs))
