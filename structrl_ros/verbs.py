"""What people call actions: the verbs of instructions, by what they ask for.

Pure data, for all who read a sentence: the rule planner's clauses (`plan.instruction`) and the
primitives of the operators (`progress.manipulation`). Add a word here to teach both. The verbs of
a plan are another language, that of the papers' skills: `plan.grammar`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: What is asked for, to the words that ask for it; each word stands once.
ACTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        'take': ('pick up', 'pick', 'grasp', 'grab', 'take', 'get', 'lift', 'lift up'),
        'place': (
            *('put', 'place', 'set', 'stack', 'insert', 'drop', 'bring', 'stow', 'pack'),
            *('transfer', 'gather', 'collect', 'tidy', 'tidy up', 'sort'),
        ),
        'move': ('move',),
        'push': ('push', 'slide'),
        'rotate': ('rotate',),
        'press': ('press',),
        'open': ('open', 'pull open'),
        'close': ('close', 'shut'),
        'turn on': ('turn on', 'switch on'),
        'turn off': ('turn off', 'switch off'),
        'turn': ('turn', 'switch'),
        'pour': ('pour',),
    }
)


def words_of(kinds: Mapping[str, str]) -> dict[str, str]:
    """Return every word of the named actions to what a reader calls the action.

    Args:
        kinds: Action to the reader's name of it; words of other actions are left out.
    """
    return {word: name for action, name in kinds.items() for word in ACTIONS[action]}


def one_of(words: Mapping[str, str]) -> str:
    """Return a regular expression of any of the words, the longest that fits."""
    return '|'.join(sorted(words, key=len, reverse=True))
