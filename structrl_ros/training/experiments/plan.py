"""What an experiment is: start policies, arms that practise from them, and what is claimed.

An *arm* is one way to practise; with a seed it is a *cell*, one run of a trainer and the
evaluation of what came out. Experiments share cells: an arm that two of them name runs once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Any

from structrl_ros.types import JsonObject

if TYPE_CHECKING:
    from structrl_ros.training.experiments.outcomes import Outcomes
    from structrl_ros.training.experiments.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRecipe:
    """A behaviour-cloned policy that all seeds of some arms start from.

    Attributes:
        name: How arms call it.
        body: Whose expert is imitated, in a world without errors of perception.
        task: Name of the task.
        settings: Of `SftSettings`.
        policy: Fields of the policy's config.
        world: Options of the body.
        shortcut: Share of demonstrations that shut what they have opened at once (twin alone).
    """

    name: str
    body: str
    task: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    world: Mapping[str, Any] = field(default_factory=dict)
    shortcut: float = 0.0

    @property
    def folder(self) -> str:
        """Name of its folder: that, and a digest of everything it depends on."""
        return f'{self.name}-{digest(asdict(self))}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """How a policy is measured at the end; the scenes are the same for every seed and arm.

    Attributes:
        episodes: How many.
        seed: Of the scenes and the policy's first noise; practice draws other ones.
        explore: With the noise of training.
    """

    episodes: int
    seed: int = 77
    explore: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way to practise.

    Attributes:
        name: How tables call it.
        start: Where it begins.
        evaluation: How the result is measured.
        trainer: 'ppo', 'grpo', or '' for the start as it is.
        reward: Name of a reward configuration.
        shaping: Folder of the GRM whose potential shapes it, '' for none.
        world: Options of the body, in practice and in the evaluation.
        settings: Of the trainer, without seed and tasks.
        policy: Fields of the policy's config that are changed for practice.
        beta_r: Scale of a progress reward; None matches it on rollouts of the start.
        seeds: How many, where it is not the experiment's number.
        keep: Whether the run is kept on the disk, so that a stopped one goes on.
        copies: Arm whose run with the same seed is read as `feedback_from`; it must be kept.
        seen: Scenes of the practice that the result is measured in as well.
    """

    name: str
    start: StartRecipe
    evaluation: Evaluation
    trainer: str = ''
    reward: str = 'structured'
    shaping: str = ''
    world: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    beta_r: float | None = None
    seeds: int | None = None
    keep: bool = False
    copies: Arm | None = None
    seen: int = 0

    def document(self) -> JsonObject:
        """Return everything that its numbers depend on, the name apart."""
        document = asdict(self)
        later = [key for key in ('shaping', 'copies', 'seen') if not document[key]]
        for key in ('name', 'keep', 'seeds', *later):
            del document[key]
        if self.copies is not None:
            document['copies'] = self.copies.document()
        del document['start']['name']
        return document


@dataclass(frozen=True, slots=True)
class Cell:
    """An arm with a seed."""

    arm: Arm
    seed: int

    @property
    def key(self) -> str:
        """Name of its result: a digest of everything it depends on."""
        return digest({'arm': self.arm.document(), 'seed': self.seed})

    @property
    def title(self) -> str:
        """What is run, in a few words."""
        return f'{self.arm.trainer or "evaluate"} {self.arm.reward} seed {self.seed}'

    @property
    def work(self) -> int:
        """How much it is, in episodes, for the time that is left."""
        arm = self.arm
        practice = arm.settings.get('iterations', 0) * arm.settings.get('episodes', 0)
        return int(practice if arm.trainer else 0) + arm.evaluation.episodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """Arms, how many seeds each has, and what is said of them.

    Attributes:
        name: For `--only` and the cache.
        title: A line.
        question: What is asked, and where it comes from.
        arms: In the order of the table; names are unique.
        seeds: Of every arm that practises; a start is measured once.
        judge: Says what is shown.
        measures: Columns of the table, names of `MEASURES` of `outcomes`; the first is plotted.
        note: What a reader should know of it.
    """

    name: str
    title: str
    question: str
    arms: tuple[Arm, ...]
    seeds: int
    judge: Callable[[Outcomes], Verdict]
    measures: tuple[str, ...] = ('success', 'steps')
    note: str = ''

    def cells(self) -> tuple[Cell, ...]:
        """Return all runs; seeds count from 1."""
        return tuple(
            Cell(arm, seed) for arm in self.arms for seed in range(1, self._seeds(arm) + 1)
        )

    def _seeds(self, arm: Arm) -> int:
        if not arm.trainer:
            return 1
        return self.seeds if arm.seeds is None else min(arm.seeds, self.seeds)


def digest(document: JsonObject) -> str:
    """Return twelve hexadecimal digits that tell a document from another."""
    text = json.dumps(document, sort_keys=True, separators=(',', ':'))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
