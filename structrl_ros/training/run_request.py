"""What a run of a trainer is asked for: everything that its numbers depend on, as plain JSON.

A request is merged from a YAML file and `key:=value` words. Keys are settings of the trainer;
`body.KEY` is an option of the worlds, `policy.KEY` a field of the policy's config. How many
processes step the worlds changes no number and is no part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from typing import Any

import yaml

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.sim.registry import BODIES
from structrl_ros.sim.registry import default_task
from structrl_ros.training.settings import GrpoSettings
from structrl_ros.training.settings import PpoSettings
from structrl_ros.training.settings import RunSettings
from structrl_ros.training.settings import SftSettings
from structrl_ros.training.settings_document import make_settings
from structrl_ros.training.settings_document import read_document
from structrl_ros.types import JsonObject

TRAINERS: dict[str, type[RunSettings]] = {
    'sft': SftSettings,
    'ppo': PpoSettings,
    'grpo': GrpoSettings,
}

#: The body behind running sim_nodes.
ROS = 'ros'

_BODY, _POLICY = 'body_options', 'policy_options'
_PREFIXES = {'body.': _BODY, 'policy.': _POLICY}
_WORDS = ('body', 'reward', 'start', 'shaping')


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A run of a trainer.

    Attributes:
        trainer: 'sft', 'ppo' or 'grpo'.
        body: Whose worlds.
        settings: Of the trainer.
        reward: Named configuration of the reward; 'ppo' and 'grpo' read it.
        start: Folder of a checkpoint, or of a run; '' for a fresh policy.
        shaping: GRM whose potential shapes the reward, a shipped name or a folder; '' for none.
        body_options: Options of the worlds.
        policy_options: Fields of the policy's config; of a start they are changed.
        beta_r: Scale of a progress reward, once it is known.
        feature_names: What the policy sees, once it is known; not kept, since the policy tells.
    """

    trainer: str
    body: str
    settings: RunSettings
    reward: str = 'structured'
    start: str = ''
    shaping: str = ''
    body_options: Mapping[str, Any] = field(default_factory=dict)
    policy_options: Mapping[str, Any] = field(default_factory=dict)
    beta_r: float | None = None
    feature_names: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What is trained, in a line."""
        shaped = f', shaped by {self.shaping}' if self.shaping else ''
        paid = '' if self.trainer == 'sft' else f', {self.reward} reward{shaped}'
        return f'{self.trainer} on {self.body}: {", ".join(self.settings.tasks)}{paid}'

    def document(self) -> JsonObject:
        """Return plain JSON that `request_of_document` takes back."""
        return {
            'trainer': self.trainer,
            'body': self.body,
            'reward': self.reward,
            'start': self.start,
            'shaping': self.shaping,
            'body_options': dict(self.body_options),
            'policy_options': dict(self.policy_options),
            'beta_r': self.beta_r,
            'settings': self.settings.model_dump(mode='json'),
        }


def make_request(
    trainer: str,
    *,
    config: str = '',
    assignments: Mapping[str, str] | None = None,
    words: Mapping[str, str] | None = None,
    tasks: Sequence[str] = (),
    seed: int | None = None,
) -> RunRequest:
    """Return a request: the file, then the words of the command line over it.

    Args:
        trainer: Name of the trainer.
        config: YAML file, or the name of one that ships; '' for none.
        assignments: Text by key, as from `key:=value`.
        words: 'body', 'reward', 'start' and 'shaping', where they are given.
        tasks: Names of tasks; none: those of the file.
        seed: Seed; None: that of the file.

    Raises:
        ParameterError: If a key is unknown, a value is not allowed, or no body is named.
    """
    if trainer not in TRAINERS:
        raise ParameterError(f'unknown trainer {trainer!r}; known: {", ".join(TRAINERS)}')
    document = read_document(config) if config else {}
    options = {name: dict(document.pop(name, None) or {}) for name in (_BODY, _POLICY)}
    chosen = {word: str(document.pop(word, '')) for word in _WORDS}
    chosen |= {word: text for word, text in (words or {}).items() if text}
    plain: dict[str, str] = {}
    for key, text in (assignments or {}).items():
        prefix = next((p for p in _PREFIXES if key.startswith(p)), None)
        if prefix is None:
            plain[key] = text
        else:
            _put(options[_PREFIXES[prefix]], key.removeprefix(prefix), yaml.safe_load(text))
    if not chosen['body']:
        raise ParameterError('body: must be given, by --body or in the config')
    if tasks:
        document['tasks'] = list(tasks)
    elif not document.get('tasks') and 'tasks' not in plain and chosen['body'] in BODIES:
        document['tasks'] = [default_task(chosen['body'])]
    if seed is not None:
        document['seed'] = seed
    settings = make_settings(TRAINERS[trainer], document, plain)
    if chosen['body'] == ROS and not settings.tasks:
        raise ParameterError(f'--task: must be given, body {ROS!r} has no first one')
    return RunRequest(
        trainer=trainer,
        body=chosen['body'],
        settings=settings,
        reward=chosen['reward'] or 'structured',
        start=chosen['start'],
        shaping=chosen['shaping'],
        body_options=options[_BODY],
        policy_options=options[_POLICY],
    )


def request_of_document(document: JsonObject) -> RunRequest:
    """Return the request of a run's config.

    Raises:
        CheckpointError: If it is no such document.
    """
    try:
        kind = TRAINERS[document['trainer']]
        settings = make_settings(kind, document['settings'])
        others = {key: value for key, value in document.items() if key != 'settings'}
        return RunRequest(settings=settings, **others)
    except (KeyError, TypeError, ParameterError) as error:
        raise CheckpointError(f'config of the run: {error}') from None


def prolong(request: RunRequest, assignments: Mapping[str, str]) -> RunRequest:
    """Return the request of a run that goes on, with more iterations if that is asked for.

    Raises:
        ParameterError: If anything else is to be changed, or the run would become shorter.
    """
    others = [key for key in assignments if key != 'iterations' or request.trainer == 'sft']
    if others:
        raise ParameterError(
            f'{others[0]}: a run goes on as it began; only iterations of ppo and grpo may grow'
        )
    if not assignments:
        return request
    settings = make_settings(
        type(request.settings), request.settings.model_dump(mode='json'), assignments
    )
    before, now = (int(getattr(s, 'iterations', 0)) for s in (request.settings, settings))
    if now < before:
        raise ParameterError(f'iterations: must be >= {before}, which the run has, got {now}')
    return replace(request, settings=settings)


def _put(options: dict[str, Any], key: str, value: Any) -> None:
    """Set an option; a dot goes into a mapping: `policy.exploration.sigma`."""
    *folders, name = key.split('.')
    place = options
    for folder in folders:
        place = place.setdefault(folder, {})
    place[name] = value
