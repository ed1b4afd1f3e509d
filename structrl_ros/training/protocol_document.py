"""Protocols of evaluations from YAML: every mistake is one line that says what is allowed.

format: 1
name: before and after practice
body: tabletop
tasks: [pack_lunch]
episodes: 20
seeds: 1000
policies:
  before: {policy: checkpoint, checkpoint: runs/start}
  after: {policy: flow}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import Literal

import yaml
from pydantic import Field
from pydantic import ValidationError
from pydantic import field_validator
from pydantic import model_validator

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.protocol import REAL_BODY
from structrl_ros.evaluation.protocol import PlacementCard
from structrl_ros.evaluation.protocol import PolicyChoice
from structrl_ros.evaluation.protocol import Protocol
from structrl_ros.evaluation.protocol import ProtocolTask
from structrl_ros.evaluation.protocol import StopRule
from structrl_ros.sim.registry import BODIES
from structrl_ros.training.checked_model import CheckedModel
from structrl_ros.types import JsonObject


class CardDocument(CheckedModel):
    """How a person sets up a start."""

    text: str = Field(min_length=1)
    picture: str = ''


class TaskDocument(CheckedModel):
    """A task; in YAML its name alone is enough."""

    name: str = Field(min_length=1)
    instruction: str = ''
    cards: tuple[CardDocument, ...] = ()


class PolicyDocument(CheckedModel):
    """A policy, as policy_node takes it."""

    policy: Literal['expert', 'flow', 'checkpoint', 'remote']
    checkpoint: str = ''
    server: str = ''

    @model_validator(mode='after')
    def _is_whole(self) -> PolicyDocument:
        for kind, key in (('checkpoint', 'checkpoint'), ('remote', 'server')):
            if self.policy == kind and not getattr(self, key):
                raise ValueError(f'policy {kind}: {key} must be given')
        return self


class StopDocument(CheckedModel):
    """When to stop before the schedule is done."""

    rule: Literal['none', 'rate', 'paired']
    alpha: float = Field(0.05, gt=0.0, lt=0.5)
    low: float = Field(0.5, gt=0.0, lt=1.0)
    high: float = Field(0.7, gt=0.0, lt=1.0)

    @model_validator(mode='after')
    def _is_ordered(self) -> StopDocument:
        low = self.low if self.rule == 'rate' else 1.0 - self.high
        if self.rule != 'none' and not low < self.high:
            raise ValueError(f'stop: low {low:g} and high {self.high:g}; allowed: low < high')
        return self


class ProtocolDocument(CheckedModel):
    """A protocol file."""

    format: Literal[1]
    name: str = Field(min_length=1)
    body: str
    tasks: tuple[TaskDocument, ...] = Field(min_length=1)
    episodes: int = Field(ge=1, le=100_000)
    seeds: tuple[int, ...] = Field((0,), min_length=1)
    initial_states: tuple[int, ...] = Field((0,), min_length=1)
    success: Literal['truth', 'subtasks', 'person'] = 'truth'
    time_limit_s: float = Field(0.0, ge=0.0)
    order: Literal['fixed', 'interleaved', 'shuffled'] = 'fixed'
    order_seed: int = Field(0, ge=0)
    blinding: bool = False
    policies: dict[str, PolicyDocument] = Field(default_factory=dict)
    stop: StopDocument = Field(
        default_factory=lambda: StopDocument.model_validate({'rule': 'none'})
    )
    body_options: dict[str, Any] = Field(default_factory=dict)

    @field_validator('tasks', mode='before')
    @classmethod
    def _tasks_by_name(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return [{'name': task} if isinstance(task, str) else task for task in value]

    @field_validator('seeds', 'initial_states', mode='before')
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return (value,) if isinstance(value, int) and not isinstance(value, bool) else value

    @model_validator(mode='after')
    def _fits_together(self) -> ProtocolDocument:
        if self.body not in (*BODIES, REAL_BODY):
            known = ', '.join((*BODIES, REAL_BODY))
            raise ValueError(f'body: unknown {self.body!r}; allowed: {known}')
        names = [task.name for task in self.tasks]
        if len(set(names)) != len(names):
            raise ValueError('tasks: a task is named twice; allowed: each once')
        for key in ('seeds', 'initial_states'):
            wrong = [n for n in getattr(self, key) if not 0 <= n < 2**31]
            if wrong:
                raise ValueError(f'{key}: {wrong[0]}; allowed: 0 to {2**31 - 1}')
        if self.body == REAL_BODY and self.success == 'truth':
            raise ValueError('success: truth; allowed for an arm: subtasks, person')
        mute = [task.name for task in self.tasks if not task.instruction]
        if self.body == REAL_BODY and mute:
            raise ValueError(f'tasks: {mute[0]!r} has no instruction, which an arm needs')
        if self.body == REAL_BODY and self.body_options:
            raise ValueError('body_options: an arm has none')
        if self.stop.rule == 'paired' and len(self.policies) not in (0, 2):
            raise ValueError(f'stop: rule paired needs two policies, got {len(self.policies)}')
        return self


def read_protocol(path: Path) -> Protocol:
    """Return the protocol of a YAML file; its relative paths are those of the file's folder.

    Raises:
        ParameterError: If there is no such file, or something in it is not allowed.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding='utf-8'))
    except FileNotFoundError:
        raise ParameterError(f'protocol {path}: no such file') from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ParameterError(f'protocol {path}: {" ".join(str(error).split())}') from None
    return protocol_of_document(document, where=f'protocol {path}', folder=path.parent)


def protocol_of_document(
    document: Any, *, where: str = 'protocol', folder: Path = Path()
) -> Protocol:
    """Return the protocol of a document.

    Args:
        document: A mapping, as YAML or JSON gives it.
        where: What the line of an error begins with.
        folder: What relative paths of pictures and checkpoints are relative to.

    Raises:
        ParameterError: If something in it is not allowed.
    """
    if not isinstance(document, Mapping):
        raise ParameterError(f'{where}: must be a mapping, got {type(document).__name__}')
    try:
        read = ProtocolDocument.model_validate(dict(document))
    except ValidationError as error:
        raise ParameterError(f'{where}: {_one_line(error)}') from None
    return Protocol(
        **{
            **{n: getattr(read, n) for n in ProtocolDocument.model_fields if n != 'format'},
            'tasks': tuple(_task(task, folder) for task in read.tasks),
            'policies': tuple(_policy(n, p, folder) for n, p in read.policies.items()),
            'stop': StopRule(**read.stop.model_dump()),
        }
    )


def document_of_protocol(protocol: Protocol) -> JsonObject:
    """Return plain JSON that `protocol_of_document` takes back, paths made absolute."""
    from dataclasses import asdict

    document = {'format': 1, **asdict(protocol)}
    document['tasks'] = [{**task, 'cards': list(task['cards'])} for task in document['tasks']]
    document['policies'] = {policy.pop('name'): policy for policy in document['policies']}
    for key in ('tasks', 'seeds', 'initial_states'):
        document[key] = list(document[key])
    return document


def _task(task: TaskDocument, folder: Path) -> ProtocolTask:
    cards = tuple(
        PlacementCard(text=card.text, picture=_path(card.picture, folder)) for card in task.cards
    )
    return ProtocolTask(name=task.name, instruction=task.instruction, cards=cards)


def _policy(name: str, policy: PolicyDocument, folder: Path) -> PolicyChoice:
    return PolicyChoice(
        name=name,
        policy=policy.policy,
        checkpoint=_path(policy.checkpoint, folder),
        server=policy.server,
    )


def _path(text: str, folder: Path) -> str:
    return str((folder / Path(text).expanduser()).absolute()) if text else ''


def _one_line(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    key = '.'.join(str(part) for part in fault['loc'])
    if fault['type'] == 'extra_forbidden':
        known = ', '.join(ProtocolDocument.model_fields)
        return f'unknown key {key!r}' + (f'; allowed: {known}' if '.' not in key else '')
    if fault['type'] == 'missing':
        return f'{key} must be given'
    if fault['type'] == 'value_error':
        return str(fault['ctx']['error'])
    message = fault['msg'][:1].lower() + fault['msg'][1:]
    return f'{key}: {message}, got {fault["input"]!r}'
