"""Training of a planner: imitation of true plans, then GRPO by the verifiable reward (REVER).

GRPO is trl's `GRPOTrainer`, set to the paper's form (Section III-B2): advantages standardised
within the group, the mean over an answer's tokens, then over answers, a KL term to the start.
There is one gradient step an answer, so the ratio of new to old chance is 1 and its clipping
rests; that the paper writes the ratio of whole answers and trl that of tokens makes no difference
then.

Needs `trl`, `datasets`, `peft` and `transformers`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from structrl_ros.errors import ParameterError
from structrl_ros.training.leap_rows import LeapRow
from structrl_ros.training.metrics_log import SECONDS
from structrl_ros.training.metrics_log import Metrics
from structrl_ros.training.metrics_log import MetricsLog
from structrl_ros.training.planner_batches import AnswerCollator
from structrl_ros.training.planner_checkpoints import WholeCheckpoints
from structrl_ros.training.planner_checkpoints import trained_tensors
from structrl_ros.training.planner_measurement import measure
from structrl_ros.training.planner_model import check_packages
from structrl_ros.training.planner_model import load_base
from structrl_ros.training.planner_model import quiet_libraries
from structrl_ros.training.planner_model import trained_model
from structrl_ros.training.planner_questions import pictures
from structrl_ros.training.planner_questions import question
from structrl_ros.training.planner_reward import VerifiableReward
from structrl_ros.training.planner_run import planner_card
from structrl_ros.training.planner_run import save_trained
from structrl_ros.training.planner_settings import PlannerGrpoSettings
from structrl_ros.training.planner_settings import PlannerSettings
from structrl_ros.training.planner_tasks import TaskSplit
from structrl_ros.training.run_directory import CHECKPOINT

Report = Callable[[int, Mapping[str, float | None]], None]


def count_updates(settings: PlannerSettings, questions: int) -> int:
    """Return how many gradient steps a run has.

    Raises:
        ParameterError: If there are fewer questions than GRPO asks in one update.
    """
    answers = settings.rows * settings.accumulation
    if isinstance(settings, PlannerGrpoSettings):
        asked = answers // settings.completions
        if asked > questions:
            raise ParameterError(
                f'rows x accumulation / completions: {asked} questions an update, but the run '
                f'has {questions}; allowed: at most as many'
            )
        an_epoch = questions // asked
    else:
        an_epoch = -(-questions // answers)
    return settings.updates or math.ceil(settings.epochs * an_epoch)


class PlannerTraining:
    """One run of either stage.

    Attributes:
        updates: Gradient steps of the whole run.
        model: What trains, with its adapter if it has one.
        measured: The newest numbers of held-out tasks.
    """

    def __init__(
        self,
        settings: PlannerSettings,
        split: TaskSplit,
        run_folder: Path,
        report: Report | None = None,
    ) -> None:
        """Load the model.

        Args:
            settings: Of the stage.
            split: Questions to train on, and to measure on.
            run_folder: Of the run; it is held by the caller.
            report: Called after each update.

        Raises:
            ParameterError: If the settings do not fit the questions, or a package is missing.
            CheckpointError: If the base or adapter cannot be had.
        """
        check_packages()
        from transformers.trainer_callback import PrinterCallback

        self.measured: Metrics = {}
        self.updates = count_updates(settings, len(split.training))
        self.settings, self.split, self._folder = settings, split, run_folder
        self._report = report or (lambda number, metrics: None)
        self.vlm = load_base(settings)
        with quiet_libraries():
            self.model = trained_model(self.vlm, settings)
            self._trainer = (
                self._grpo(settings) if isinstance(settings, PlannerGrpoSettings) else self._sft()
            )
        self._trainer.run_folder = run_folder
        self._trainer.remove_callback(PrinterCallback)

    def run(self, *, resume: bool = False) -> Path:
        """Train to the last update, and return the folder of the weights.

        Args:
            resume: Go on from the checkpoint of the run, if it has one.

        Raises:
            CheckpointError: If the checkpoint is of another run, or the disk refuses.
        """
        checkpoint = self._folder / CHECKPOINT
        goes_on = resume and checkpoint.is_dir()
        with quiet_libraries():
            self._trainer.train(resume_from_checkpoint=str(checkpoint) if goes_on else None)
        return self.export(self.updates)

    @property
    def trained(self) -> int:
        """How many parameters train."""
        return sum(tensor.numel() for tensor in trained_tensors(self.model).values())

    def measure(self) -> Metrics:
        """Return what the model is worth on the held-out tasks."""
        self.measured = measure(self.model, self.vlm.processor, self.split.held_out, self.settings)
        return self.measured

    def export(self, update: int) -> Path:
        """Write the weights as planner_node loads them, and return their folder."""
        stage = 'grpo' if isinstance(self.settings, PlannerGrpoSettings) else 'sft'
        card = planner_card(
            stage, self.settings, self.split.training, len(self.split.held_out), update
        )
        return save_trained(self._folder, self.model, self.vlm.processor, self.settings, card)

    def _grpo(self, settings: PlannerGrpoSettings) -> Any:
        from trl import GRPOConfig
        from trl import GRPOTrainer

        class Trainer(WholeCheckpoints, GRPOTrainer):
            pass

        rows, prompt = self.split.training, settings.prompt
        config = GRPOConfig(
            **self._arguments(),
            num_generations=settings.completions,
            max_completion_length=settings.max_tokens,
            temperature=settings.temperature,
            top_p=1.0,
            top_k=0,
            beta=settings.kl,
            epsilon=settings.clip,
            loss_type='grpo',
            scale_rewards='group',
            importance_sampling_level='token',
            num_iterations=1,
            mask_truncated_completions=False,
            use_vllm=False,
        )
        return Trainer(
            model=self.model,
            reward_funcs=[VerifiableReward(rows, prompt, settings.w_format, settings.w_content)],
            args=config,
            train_dataset=_question_data(rows, prompt),
            processing_class=self.vlm.processor,
            callbacks=[_telling(self)],
        )

    def _sft(self) -> Any:
        from transformers import Trainer as Base
        from transformers import TrainingArguments

        class Trainer(WholeCheckpoints, Base):
            pass

        rows = self.split.training
        return Trainer(
            model=self.model,
            args=TrainingArguments(**self._arguments()),
            train_dataset=list(range(len(rows))),
            data_collator=AnswerCollator(self.vlm.processor, rows, self.settings.prompt),
            callbacks=[_telling(self)],
        )

    def _arguments(self) -> dict[str, Any]:
        """Return what both trainers of transformers are told."""
        settings = self.settings
        device = self.vlm.model.device.type
        return {
            'output_dir': str(self._folder),
            'max_steps': self.updates,
            'per_device_train_batch_size': settings.rows,
            'gradient_accumulation_steps': settings.accumulation,
            'learning_rate': settings.learning_rate,
            'lr_scheduler_type': 'cosine',
            'warmup_steps': settings.warmup,
            'weight_decay': settings.weight_decay,
            'max_grad_norm': settings.gradient_clip,
            'seed': settings.seed,
            'save_strategy': 'steps',
            'save_steps': settings.checkpoint_every,
            'logging_steps': 1,
            'report_to': [],
            'disable_tqdm': True,
            'remove_unused_columns': False,
            'gradient_checkpointing': settings.gradient_checkpointing,
            'use_cpu': device == 'cpu',
            'bf16': device == 'cuda' and self.vlm.model.dtype == torch.bfloat16,
            'dataloader_pin_memory': device == 'cuda',
        }


def _question_data(rows: Sequence[LeapRow], prompt: str) -> Any:
    """Return the questions as trl takes them; pictures are opened when they are asked."""
    from datasets import Dataset

    def ask(batch: dict[str, list[int]]) -> dict[str, list[Any]]:
        chosen = [rows[number] for number in batch['row']]
        return {
            'row': batch['row'],
            'prompt': [question(row, prompt) for row in chosen],
            'images': [pictures(row) for row in chosen],
        }

    data = Dataset.from_dict({'row': list(range(len(rows)))})
    data.set_transform(ask)
    return data


def _telling(training: PlannerTraining) -> Any:
    """Return a callback of transformers that keeps the numbers of each update."""
    from transformers import TrainerCallback

    class Telling(TrainerCallback):
        _log: MetricsLog

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            done = state.global_step
            self._log = MetricsLog(training._folder, 'update', after=done or None)
            if not done:
                self._tell(0, training.measure())

        def on_log(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            logs = more['logs']
            if 'train_runtime' in logs:
                return
            metrics = {_name(key): value for key, value in logs.items() if key != 'epoch'}
            number, every = state.global_step, training.settings.evaluate_every
            if number == training.updates or (every and number % every == 0):
                metrics |= training.measure()
            self._tell(number, metrics)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            training.export(state.global_step)

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self._log.close()

        def _tell(self, number: int, metrics: Metrics) -> None:
            self._log.write(number, {k: _finite(v) for k, v in metrics.items()})
            training._report(number, metrics)

    return Telling()


def _name(key: str) -> str:
    return f'{SECONDS}step' if key == 'step_time' else f'planner/{key}'


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
