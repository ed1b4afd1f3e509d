"""Settings of the trainers: what may be set, its range, and the value that the recipe found.

The recipe's numbers were measured on the kinematic twin and in MuJoCo (docs/training.md).
`configs/*.yaml` hold others, the paper's scale among them.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic import model_validator

from structrl_ros.training.checked_model import CheckedModel


class RunSettings(CheckedModel):
    """What every trainer has."""

    seed: int = Field(0, ge=0, lt=2**31, description='Seed of starts, noise and minibatches.')
    tasks: tuple[str, ...] = Field((), description='Tasks of the body, trained jointly.')
    checkpoint_every: int = Field(1, ge=1, description='Iterations between two checkpoints.')
    evaluation_episodes: int = Field(64, ge=0, description='Episodes of an evaluation, a task.')
    environments: int = Field(64, ge=1, description='Worlds side by side.')
    inference_batch: int = Field(
        32, ge=1, description='Rows of the network in rollouts; the last bits depend on it.'
    )
    device: str = Field('cpu', description="Where the policy is: 'cpu', 'cuda:0', ...")
    initial_states: int = Field(1, ge=1, description='Initial states of a task to draw from.')


class PracticeSettings(RunSettings):
    """What both reinforcement learners have; an iteration collects and learns once."""

    evaluate_every: int = Field(
        10, ge=0, description='Iterations between evaluations, and before the first; 0: never.'
    )
    iterations: int = Field(40, ge=1, description='How often to collect and to learn.')
    episodes: int = Field(64, ge=2, description='Episodes of an iteration, over all tasks.')
    learning_rate: float = Field(2e-4, gt=0, description='Of the policy; Adam.')
    rate_warmup: int = Field(
        20, ge=0, description='First gradient steps, in which the rate rises to its value.'
    )
    epochs: int = Field(4, ge=1, description='Passes over the chunks of an iteration.')
    minibatch: int = Field(512, ge=1, description='Chunks of a gradient step.')
    gradient_clip: float = Field(1.0, gt=0, description='Largest norm of a gradient.')
    clip: float = Field(0.2, gt=0, lt=1, description='Clipping threshold of the ratio, Eq. 1.')
    ratio: Literal['dimension', 'chunk'] = Field(
        'dimension', description='One ratio an action dimension, or one a chunk as in Eq. 1.'
    )
    kl_stop: float = Field(
        0.5, gt=0, description='KL of a minibatch in nats a chunk that rolls the iteration back.'
    )


class PpoSettings(PracticeSettings):
    """Chunk-level PPO (StructRL, Section 2 and Algorithm 1)."""

    gamma: float = Field(0.99, gt=0, le=1, description='Discount a chunk.')
    trace_decay: float = Field(0.9, ge=0, le=1, description="GAE's lambda.")
    timeout: Literal['terminated', 'truncated'] = Field(
        'terminated',
        description='What the horizon is: an end (time is an input of the critic), or a cut.',
    )
    critic: Literal['separate', 'shared'] = Field(
        'separate', description='Whether the critic reads the state, or what the policy encodes.'
    )
    critic_learning_rate: float = Field(1e-3, gt=0, description='Of the critic; Adam.')
    critic_width: int = Field(128, ge=1, description='Units of its two hidden layers.')
    warmup_iterations: int = Field(1, ge=0, description='First iterations, for the critic alone.')
    warmup_epochs: int = Field(15, ge=1, description='Passes of the critic in each of them.')


class GrpoSettings(PracticeSettings):
    """GRPO over groups of one task and one initial state (StructRL, Section 3.2.3)."""

    group_size: int = Field(8, ge=2, description='Rollouts of a group.')
    reference_kl: float = Field(0.0, ge=0, description='Weight of the KL to the start policy.')
    accepted: Literal['spread', 'mixed'] = Field(
        'spread', description='Groups that teach: whose returns differ, or also whose outcomes do.'
    )
    resampling: int = Field(
        0, ge=0, le=64, description='Rounds in which groups that do not teach are replaced.'
    )
    failure_feedback: Literal['full', 'truncated', 'prefix_rule', 'uniform', 'random_prefix'] = (
        Field('full', description='What of the feedback on failures is kept (MART-GRPO).')
    )
    events: Literal['simulator', 'progress', 'openai'] = Field(
        'simulator', description='Who finds the error of a failure, for truncated and prefix_rule.'
    )
    events_url: str = Field('', description='Server of events openai, as http://HOST:8000/v1.')
    events_model: str = Field('', description='Name of the model on that server.')
    least_confidence: float | None = Field(
        None, ge=0, le=1, description='Of a review that may cut feedback; none: any.'
    )
    review_limit_s: float = Field(
        600.0, gt=0, description='Wall time of the reviews of an iteration, then full feedback.'
    )
    feedback_scale: float | None = Field(
        None, ge=0, le=1, description='Gamma of uniform; none: measured in feedback_from.'
    )
    feedback_from: str = Field(
        '', description='Run with events whose retained mass or boundaries a control copies.'
    )

    @model_validator(mode='after')
    def _known_feedback(self) -> GrpoSettings:
        kind, source = self.failure_feedback, self.feedback_from
        if kind == 'uniform' and self.feedback_scale is None and not source:
            raise ValueError('failure_feedback uniform: needs feedback_scale or feedback_from')
        if kind == 'random_prefix' and not source:
            raise ValueError(
                'failure_feedback random_prefix: needs feedback_from, a run directory'
            )
        if self.events == 'openai' and not (self.events_url and self.events_model):
            raise ValueError('events openai: needs events_url and events_model')
        return self

    @model_validator(mode='after')
    def _whole_groups(self) -> GrpoSettings:
        if self.episodes % self.group_size:
            raise ValueError(
                f'episodes: must be a multiple of group_size {self.group_size}, '
                f'got {self.episodes}'
            )
        return self


class SftSettings(RunSettings):
    """Imitation of demonstrations; `updates` count gradient steps of every round."""

    checkpoint_every: int = Field(500, ge=1, description='Updates between two checkpoints.')
    updates: int = Field(5000, ge=1, description='Gradient steps of a round.')
    batch: int = Field(256, ge=1, description='Windows of a gradient step.')
    learning_rate: float = Field(1e-3, gt=0, description='Peak of OneCycle; Adam.')
    gradient_clip: float = Field(1.0, gt=0, description='Largest norm of a gradient.')
    ema_decay: float = Field(0.995, ge=0, lt=1, description='Of the averaged weights, a step.')
    demonstrations: int = Field(150, ge=1, description="Episodes of the body's expert.")
    perturbed: float = Field(
        2 / 3, ge=0, le=1, description='Share of demonstrations with perturbed steps (DART).'
    )
    perturbation: float = Field(
        0.15, ge=0, description='Standard deviation of the perturbation of half their steps.'
    )
    dagger_rounds: int = Field(0, ge=0, description='Rounds with the policy at the wheel.')
    dagger_episodes: int = Field(100, ge=1, description='Episodes of a DAgger round.')
