"""The scene as a list of names: which thing or place a phrase of the instruction means."""

from __future__ import annotations

from collections.abc import Sequence

from structrl_ros.errors import PlanSyntaxError
from structrl_ros.naming import Mention
from structrl_ros.naming import fold
from structrl_ros.naming import match_noun
from structrl_ros.naming import parse_handle
from structrl_ros.naming import parse_mention
from structrl_ros.ontology import THINGS_WITH_DRAWERS
from structrl_ros.plan.grammar import quote
from structrl_ros.plan.instruction_groups import members
from structrl_ros.plan.instruction_groups import read_group


class Scene:
    """Resolves phrases against the names that the body publishes with an episode.

    Args:
        vocabulary: Names such as 'moka pot', 'flat stove', 'bottom drawer'; None is an unknown
            scene, in which every phrase stands for itself.
    """

    def __init__(self, vocabulary: Sequence[str] | None) -> None:
        """Tell things from places within things."""
        self._known = vocabulary is not None
        self._names = tuple(fold(v) for v in vocabulary or ())
        mentions = [parse_mention(n) for n in self._names]
        self._places = {(m.place, m.part) for m in mentions if m.part}
        self._things = tuple(
            dict.fromkeys(
                parse_handle(n).noun
                for n, m in zip(self._names, mentions, strict=True)
                if m.noun and not m.part and not m.relative
            )
        )

    def resolve(self, phrase: str, *, qualified: bool = False) -> str:
        """Return the phrase with the scene's own name of the thing.

        Args:
            phrase: Folded, for example 'bottom drawer of cabinet' or 'white mug'.
            qualified: Whether to keep what tells the thing from its like ('next to ramekin').

        Raises:
            PlanSyntaxError: If it names nothing in the scene, or several things equally well.
        """
        mention = parse_mention(phrase)
        noun = self._noun(mention, phrase) if self._known else mention.noun
        rendered = mention.render(noun)
        if noun in THINGS_WITH_DRAWERS:
            rendered = rendered.replace(' layer of ', ' drawer of ')
        return f'{rendered} {mention.qualifier}' if qualified and mention.qualifier else rendered

    def is_name(self, phrase: str) -> bool:
        """Tell whether the phrase names one thing or place of the scene."""
        if not phrase:
            return False
        if not self._known:
            return ' and ' not in f' {phrase} ' and ',' not in phrase
        try:
            self.resolve(phrase)
        except PlanSyntaxError:
            return False
        return True

    def means_something(self, phrase: str) -> bool:
        """Tell whether the phrase names a thing or place of the scene, or describes things."""
        try:
            return self.is_name(phrase) or bool(self.described(phrase))
        except PlanSyntaxError:
            return False

    def described(self, phrase: str) -> tuple[str, ...]:
        """Return the things that a phrase such as 'all fruit' or 'the red one' describes.

        Empty for a phrase that is no description, and in an unknown scene.

        Raises:
            PlanSyntaxError: If nothing in the scene is like that, or several things are and the
                phrase means one.
        """
        group = read_group(phrase) if self._known else None
        if group is None:
            return ()
        found = members(group, self._things)
        if not found:
            raise self.refuse(phrase)
        if len(found) > 1 and not group.is_all:
            choice = ' or '.join(quote(thing) for thing in found)
            raise PlanSyntaxError(f'{quote(phrase)} could mean {choice}; say which one')
        return found

    def refuse(self, phrase: str) -> PlanSyntaxError:
        """Return the error of a phrase that names nothing here."""
        known = ', '.join(self._names) or 'nothing'
        return PlanSyntaxError(
            f'{quote(phrase)} names nothing in the scene; in the scene: {known}'
        )

    def _noun(self, mention: Mention, phrase: str) -> str:
        """Return the scene's name of the thing that is mentioned."""
        if mention.part and not self._has_part(mention):
            raise self.refuse(phrase)
        if not mention.noun:
            owners = [t for t in self._things if t in THINGS_WITH_DRAWERS]
            if not mention.part or mention.part not in {'drawer', 'layer'} or not owners:
                if mention.part:
                    return ''
                raise self.refuse(phrase)
            return owners[0]
        scores = {t: match_noun(mention.noun, t) for t in self._things}
        best = max(scores.values(), default=0.0)
        if best == 0.0:
            raise self.refuse(phrase)
        winners = [t for t, score in scores.items() if score == best]
        if len(winners) > 1:
            choice = ' or '.join(quote(w) for w in winners)
            raise PlanSyntaxError(f'{quote(phrase)} could mean {choice}; say which one')
        return winners[0]

    def _has_part(self, mention: Mention) -> bool:
        """Tell whether the scene lists this part, or lists no part of this kind at all."""
        part = 'drawer' if mention.part == 'layer' else mention.part
        listed = {place for place, kind in self._places if kind == part}
        if not listed:
            return bool(mention.noun)
        return not mention.place or mention.place in listed
