"""The planner `rules`: a sentence and the names in the scene to the text of a plan.

No model, no network: grammar, pronouns, 'both X and Y', places relative to a thing. A grasp comes
before every placing (StructRL, Appendix B.1, requirement 4). The scene's own names stand in the
plan, so 'the soup' becomes 'alphabet soup'. It is deterministic, and it says what it cannot read.
"""

from __future__ import annotations

import itertools
import json
import re

from structrl_ros.errors import PlanSyntaxError
from structrl_ros.naming import parse_mention
from structrl_ros.plan.grammar import quote
from structrl_ros.plan.instruction import Clause
from structrl_ros.plan.instruction import split_clauses
from structrl_ros.plan.scene import Scene
from structrl_ros.types import FailedAttempt
from structrl_ros.types import PlanRequest

MAX_INSTRUCTION = 2000

_INTO = {
    'in': 'in',
    'into': 'in',
    'inside': 'in',
    'within': 'in',
    'on': 'on',
    'onto': 'on',
    'upon': 'on',
    'to': 'to',
}
_PRONOUNS = frozenset(
    {'it', 'them', 'this', 'that', 'these', 'those', 'both', 'both of them', 'both them', 'there'}
)
_COUNTS = {'both': 2, 'two': 2, 'three': 3, 'four': 4}
_JOINTS = re.compile(r'\s*(?:,\s*and\b|,|\band\b)\s*')


class RulePlanner:
    """Turns sentences into plans by rules; port Planner."""

    name = 'rules'

    def propose(self, request: PlanRequest) -> str:
        """Return a plan as JSON text, one step a stage.

        A request after a failed attempt gives the steps that are left; a placing that failed
        starts with the grasp again, since the thing may have fallen.

        Raises:
            PlanSyntaxError: If the sentence cannot be read, or names nothing in the scene; also if
                an earlier plan of these rules was refused, for they would write it again.
        """
        if request.rejected:
            raise PlanSyntaxError(f'the rules have no other plan: {request.rejected[-1][1]}')
        if len(request.instruction) > MAX_INSTRUCTION:
            raise PlanSyntaxError(
                f'the instruction has {len(request.instruction)} characters; '
                f'at most {MAX_INSTRUCTION} are read'
            )
        writer = _Writer(Scene(request.vocabulary))
        for clause in split_clauses(request.instruction):
            writer.write(clause)
        phrases = writer.finish()
        if request.failed is not None:
            phrases = remaining_phrases(request.failed, phrases)
        return json.dumps({'stages': [[p] for p in phrases]})


class _Writer:
    """Writes the steps of one sentence and remembers what its pronouns stand for."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._phrases: list[str] = []
        self._things: list[str] = []
        self._target = ''
        self._preposition = 'in'
        self._taken: list[str] = []

    def write(self, clause: Clause) -> None:
        """Append the steps of one clause."""
        if clause.kind == 'take':
            self._flush()
            self._taken = self._list(clause.words, qualified=True)
            self._things = [self._plain(t) for t in self._taken]
        elif clause.kind in {'place', 'push'}:
            self._write_motion(clause)
        elif clause.kind == 'pour':
            self._write_pour(clause)
        else:
            self._flush()
            for thing in self._fixtures(clause.words):
                self._phrases.append(f'{clause.kind} {thing}')
                self._target = thing

    def finish(self) -> list[str]:
        """Return all steps."""
        self._flush()
        return self._phrases

    def _flush(self) -> None:
        """Write the grasps of things that were taken up and have not been put anywhere."""
        self._phrases += [f'grasp {t}' for t in self._taken]
        self._taken = []

    def _write_motion(self, clause: Clause) -> None:
        """Write grasp and placing of every thing; a push moves it without a grasp."""
        what, preposition, where = self._split(clause)
        if clause.kind == 'push' and not preposition:
            self._phrases += [f'press {t}' for t in self._fixtures(what)]
            return
        taken = {self._plain(t): t for t in self._taken}
        things = self._list(what, qualified=True)
        if len(things) > 1:
            things = [t for t in things if t != where]
        self._taken = [t for t in self._taken if self._plain(t) not in map(self._plain, things)]
        self._flush()
        target = self._where(where)
        for thing in things:
            plain = self._plain(thing)
            if clause.kind == 'place':
                self._phrases.append(f'grasp {taken.get(plain, thing)}')
            self._phrases.append(f'place {plain} {preposition} {target}')
        self._things = [self._plain(t) for t in things]
        self._target, self._preposition = target, preposition

    def _write_pour(self, clause: Clause) -> None:
        """Write a grasp and the pouring."""
        what, preposition, where = self._split(clause)
        if preposition not in {'in', 'on'}:
            raise PlanSyntaxError(f'{quote("pour " + clause.words)} does not say into what')
        things = [self._plain(t) for t in self._list(what)]
        held = [self._plain(t) for t in self._taken]
        self._flush()
        target = self._where(where)
        for thing in things:
            if thing not in held:
                self._phrases.append(f'grasp {thing}')
            self._phrases.append(f'pour {thing} into {target}')
        self._things, self._target = things, target

    def _split(self, clause: Clause) -> tuple[str, str, str]:
        """Split at the last preposition behind which stands a thing, a place or a pronoun."""
        words = clause.words.split()
        if words[-1:] == ['there'] and words[-2:-1] and words[-2] not in _INTO:
            return ' '.join(words[:-1]), self._preposition, 'there'
        for i in range(len(words) - 1, 0, -1):
            if words[i] not in _INTO or words[i - 1] in {'next', 'close', 'nearest', 'closest'}:
                continue
            where = ' '.join(words[i + 1 :])
            if where in _PRONOUNS or (not where and self._target) or self._scene.is_name(where):
                return ' '.join(words[:i]), _INTO[words[i]], where
        if clause.kind == 'push':
            return clause.words, '', ''
        first = next((i for i, w in enumerate(words) if i and w in _INTO), len(words))
        where = ' '.join(words[first + 1 :])
        if where:
            self._scene.resolve(where)
        raise PlanSyntaxError(
            f'{quote(f"{clause.kind} {clause.words}")} does not say where to; '
            f'the form is {clause.kind} X in|on|to Y'
        )

    def _where(self, where: str) -> str:
        """Return the target; a pronoun or nothing means the last place, else the last thing."""
        if where and where not in _PRONOUNS:
            return self._same_part(self._scene.resolve(where), where)
        if self._target:
            return self._target
        if self._things:
            return self._things[-1]
        raise PlanSyntaxError(f'{quote(where)} stands for nothing that was named before')

    def _fixtures(self, words: str) -> list[str]:
        """Return the things that are opened, closed, switched or pressed."""
        if words in _PRONOUNS:
            return [self._where(words)]
        if not words:
            raise PlanSyntaxError('a verb without a thing; say what, for example open the drawer')
        return [self._same_part(t, words) for t in self._list(words)]

    def _same_part(self, resolved: str, words: str) -> str:
        """Return the drawer that was named last where only 'the drawer' is said."""
        mention, last = parse_mention(words), parse_mention(self._target)
        if mention.part and not mention.place and not mention.noun and last.part == mention.part:
            return self._target
        return resolved

    def _list(self, words: str, *, qualified: bool = False) -> list[str]:
        """Return the things of 'both X and Y', 'both moka pots', 'it', 'the X'."""
        if words in _PRONOUNS:
            if not self._things:
                raise PlanSyntaxError(f'{quote(words)} stands for nothing that was named before')
            return list(self._things)
        first, _, rest = words.partition(' ')
        count = _COUNTS.get(first, 1)
        listed = rest if first in {*_COUNTS, 'all'} else words
        if self._scene.is_name(listed):
            if count == 1 and self._is_plural(listed):
                count = 2
            return [self._scene.resolve(listed, qualified=qualified)] * count
        if group := self._scene.described(words):
            return list(group)
        names = self._cut(listed)
        if names is None:
            pieces = _JOINTS.split(listed)
            for piece in pieces:
                self._scene.resolve(piece)
            raise self._scene.refuse(listed)
        return [thing for n in names for thing in self._named(n, qualified)]

    def _named(self, words: str, qualified: bool) -> tuple[str, ...]:
        """Return the things of one piece of a list: a name, or what a description fits."""
        if self._scene.is_name(words):
            return (self._scene.resolve(words, qualified=qualified),)
        return self._scene.described(words)

    def _is_plural(self, phrase: str) -> bool:
        """Tell whether the phrase is a plural: its noun names the thing only without its s."""
        noun = parse_mention(phrase).noun
        own = parse_mention(self._scene.resolve(phrase)).noun
        return noun.endswith('s') and not own.endswith('s')

    def _cut(self, words: str) -> list[str] | None:
        """Return names that fill the list between its commas and ands, or None."""
        joints = [(0, 0), *((m.start(), m.end()) for m in _JOINTS.finditer(words))]
        fitting: dict[int, list[str]] = {len(words): []}
        for k in range(len(joints) - 1, -1, -1):
            start = joints[k][1]
            ends = [(a, b) for a, b in joints[k + 1 :]] + [(len(words), len(words))]
            for end, following in reversed(ends):
                if following in fitting and self._scene.means_something(words[start:end]):
                    fitting[start] = [words[start:end], *fitting[following]]
                    break
        return fitting.get(0)

    def _plain(self, thing: str) -> str:
        """Return the thing without its qualifier, as it stands in a placing."""
        mention = parse_mention(thing)
        return thing.removesuffix(mention.qualifier).strip() if mention.qualifier else thing


def remaining_phrases(failed: FailedAttempt, phrases: list[str]) -> list[str]:
    """Return what is left of the plan that failed, with the grasp that its first placing needs."""
    left = [s.phrase for s in failed.plan.subtasks[failed.index :]]
    if not left:
        raise PlanSyntaxError(f'nothing is left to do, yet the task failed: {failed.reason}')
    for grasp, placing in itertools.pairwise(phrases):
        if placing == left[0] and grasp.startswith('grasp '):
            return [grasp, *left]
    return left
