"""Does a progress model's potential help practice: Table 3 of Robo-Dopamine 2.0, small.

Five arms practise alike on a terminal reward, in MuJoCo, with pictures: without shaping, and
shaped by a GRM trained with or without OOD supervision (first digit) and with or without panels of
the rollout's history (second digit).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from structrl_ros.errors import ParameterError
from structrl_ros.training.experiments.mujoco_bench import MUJOCO
from structrl_ros.training.experiments.mujoco_bench import MUJOCO_QUICK
from structrl_ros.training.experiments.mujoco_bench import MujocoBench
from structrl_ros.training.experiments.outcomes import Outcomes
from structrl_ros.training.experiments.plan import Arm
from structrl_ros.training.experiments.plan import Evaluation
from structrl_ros.training.experiments.plan import Experiment
from structrl_ros.training.experiments.verdict import Verdict
from structrl_ros.training.experiments.verdict import judge
from structrl_ros.training.experiments.verdict import reported

#: Arms and what trained their GRM; each is a folder of this name, in lower case.
FACTORIAL: Mapping[str, str] = {
    'C00': 'no OOD supervision, static layout',
    'C01': 'no OOD supervision, panels',
    'C10': 'OOD supervision, static layout',
    'C11': 'OOD supervision, panels',
}
SPARSE = 'sparse'


@dataclass(frozen=True, slots=True, kw_only=True)
class GrmShapingBench:
    """One scale of the factorial.

    Attributes:
        mujoco: Start, practice and evaluation.
        offset: Of the calibration, metres: the start succeeds now and then.
        image_size: Side of the pictures that the GRM looks at.
        seeds: Runs of an arm.
    """

    mujoco: MujocoBench = MUJOCO
    offset: float = 0.016
    image_size: int = 64
    seeds: int = 3
    practice: Mapping[str, Any] = field(
        default_factory=lambda: {'episodes': 64, 'iterations': 16, 'learning_rate': 2e-4}
    )

    def experiments(self, folder: Path) -> tuple[Experiment, ...]:
        """Return the factorial.

        Args:
            folder: Holds a GRM in each of c00, c01, c10 and c11.

        Raises:
            ParameterError: If one is missing.
        """
        missing = [name for name in FACTORIAL if not _grm(folder, name).is_dir()]
        if missing:
            raise ParameterError(
                f'{folder}: no GRM in {missing[0].lower()}; allowed: a folder with '
                f'{", ".join(name.lower() for name in FACTORIAL)}, see docs/grm.md'
            )
        arms = [self._arm('start', trainer=''), self._arm(SPARSE)]
        arms += [self._arm(name, shaping=str(_grm(folder, name))) for name in FACTORIAL]
        return (
            Experiment(
                name='grm_shaping',
                title='A GRM shapes a terminal reward, in MuJoCo',
                question='Do OOD supervision and rollout history help practice (Table 3)?',
                arms=tuple(arms),
                seeds=self.seeds,
                judge=_judge,
                measures=('success', 'training_success', 'steps', 'idle'),
                note='; '.join(f'{name}: {words}' for name, words in FACTORIAL.items()),
            ),
        )

    def _arm(self, name: str, *, trainer: str = 'ppo', shaping: str = '') -> Arm:
        world: dict[str, Any] = {
            'calibration_offset': self.offset,
            'image_size': self.image_size,
        }
        if self.mujoco.horizon_steps is not None:
            world['horizon_steps'] = self.mujoco.horizon_steps
        return Arm(
            name=name,
            start=self.mujoco.competent,
            evaluation=Evaluation(episodes=self.mujoco.evaluation_episodes),
            trainer=trainer,
            reward='terminal',
            shaping=shaping,
            world=world,
            settings=self.practice if trainer else {},
            policy={'exploration': {'sigma': self.mujoco.sigma}},
            keep=bool(trainer),
        )


def _grm(folder: Path, name: str) -> Path:
    return folder / name.lower()


def _judge(outcomes: Outcomes) -> Verdict:
    pairs = [('C11', SPARSE), ('C11', 'C10'), ('C11', 'C01'), ('C10', 'C00'), ('C01', 'C00')]
    return judge([reported(outcomes, *pair) for pair in pairs], len(outcomes.values(SPARSE)))


#: What `structrl bench grm-rl` runs.
GRM_SHAPING = GrmShapingBench()

#: A tiny one, to see that everything runs.
GRM_SHAPING_QUICK = GrmShapingBench(
    mujoco=MUJOCO_QUICK, image_size=32, seeds=1, practice=MUJOCO_QUICK.practice
)
