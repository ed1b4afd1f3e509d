"""A body and its episodes: what it is, what a reset gives, what a step made true."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BodySpec:
    """What a body is: its name, control rate, action space and camera roles."""

    name: str
    control_rate_hz: float
    action_space: str
    action_dimension: int
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """What a reset gives: the task as sentence, its horizon (low-level steps), truth, objects.

    `predicate_names` are the goal conjuncts that were false at reset, grasps, and openings of what
    is closed and in the way, in fixed order.
    """

    task: str
    instruction: str
    horizon_steps: int
    predicate_names: tuple[str, ...]
    objects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Truth after one low-level step, in the order of `TaskInfo.predicate_names`."""

    values: tuple[bool, ...]
    success: bool


@dataclass(frozen=True, slots=True)
class Episode:
    """Start or end of an episode, with the names of the movable and fixed things in the scene."""

    stamp_ns: int
    episode: int
    ended: bool
    body: str
    task: str
    instruction: str
    seed: int
    initial_state: int
    success: bool = False
    end_reason: str = ''
    objects: tuple[str, ...] = ()
