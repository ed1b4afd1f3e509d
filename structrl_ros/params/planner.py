"""Parameters of planner_node."""

from __future__ import annotations

from dataclasses import dataclass

from structrl_ros.errors import ParameterError
from structrl_ros.params.parameter import check_parameters
from structrl_ros.params.parameter import parameter
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.session_ports import SessionSettings
from structrl_ros.types import ROLES

_LIMITS, _SESSION = ExecutiveSettings(), SessionSettings()


@dataclass(frozen=True, kw_only=True)
class PlannerParameters:
    """Which planner and monitor carry out a sentence, and their limits."""

    planner: str = parameter(
        'rules',
        description='Backend that turns a sentence into a plan.',
        choices=('rules', 'openai', 'local'),
    )
    monitor: str = parameter(
        'predicates',
        description='Backend that says whether a step is done; predicates needs a simulator, grm '
        'needs grm_node.',
        choices=('predicates', 'openai', 'local', 'grm'),
    )
    lockstep: bool = parameter(
        False, description='The body waits for the verdict on each chunk; as in sim_node.'
    )
    monitor_rate_hz: float = parameter(
        5.0, description='Ticks of the monitor a second (REVER: 5).', bounds=(0.1, 50.0)
    )
    subtask_timeout_s: float = parameter(
        _LIMITS.subtask_timeout_s,
        description="Time for one attempt at a step, of the body's clock.",
        bounds=(0.1, None),
    )
    attempts: int = parameter(
        _LIMITS.attempts,
        description='Attempts at a step before a new plan is asked for.',
        bounds=(1, 100),
    )
    replans: int = parameter(
        _LIMITS.replans, description='New plans in one task.', bounds=(0, 100)
    )
    confirmations: int = parameter(
        0,
        description='Observations in a row to be judged done; 0 = 1 for predicates, else 2.',
        bounds=(0, 100),
    )
    monitor_failures: int = parameter(
        _LIMITS.monitor_failures,
        description='Failed calls of the monitor in a row that end a task.',
        bounds=(1, 100),
    )
    time_limit_s: float = parameter(
        _LIMITS.time_limit_s,
        description="Time for a task without a limit, of the body's clock.",
        bounds=(0.1, None),
    )
    max_steps: int = parameter(
        _LIMITS.max_steps, description='Longest plan that is taken.', bounds=(1, 1000)
    )
    stall_limit_s: float = parameter(
        _SESSION.stall_limit_s,
        description='Wall time without news from the body that ends a task.',
        bounds=(1.0, None),
    )
    first_observation_s: float = parameter(
        20.0, description='Wall time to wait for a body and its images.', bounds=(0.0, None)
    )
    roles: tuple[str, ...] = parameter(
        ('head',), description='Cameras that a model looks at.', choices=ROLES
    )
    plan_prompt: str = parameter(
        'plan_v1',
        description='Prompt for plans of a model; blocks, brief: think and answer blocks.',
        choices=('plan_v1', 'plan_blocks_v1', 'plan_brief_v1'),
    )
    verify_prompt: str = parameter(
        'verify_v1',
        description='Prompt of an openai monitor; word: one token, and its probability.',
        choices=('verify_v1', 'verify_word_v1'),
    )
    openai_base_url: str = parameter('', description='Server, such as http://127.0.0.1:8000/v1.')
    openai_model: str = parameter('', description='Name of the model on the server.')
    openai_key_variable: str = parameter(
        'OPENAI_API_KEY', description="Environment variable with the key; '' sends none."
    )
    openai_timeout_s: float = parameter(
        30.0, description='Wall time of one try to get a plan.', bounds=(0.01, 600.0)
    )
    openai_verify_timeout_s: float = parameter(
        5.0, description='Wall time of one try to get a verdict.', bounds=(0.01, 600.0)
    )
    openai_retries: int = parameter(2, description='Tries after one that failed.', bounds=(0, 10))
    image_format: str = parameter(
        'jpeg', description='Form of images to the server.', choices=('jpeg', 'png')
    )
    model: str = parameter(
        '', description='Folder or hub id of the model of a local planner or monitor.'
    )
    adapter: str = parameter('', description='Folder of a LoRA adapter for that model.')
    device: str = parameter(
        'auto', description='Where a local model runs.', choices=('auto', 'cpu', 'cuda', 'mps')
    )
    dtype: str = parameter(
        'auto',
        description='Weights of a local model; auto is bfloat16 on CUDA, float32 on a CPU.',
        choices=('auto', 'float32', 'bfloat16', 'float16'),
    )
    four_bit: bool = parameter(
        False, description='Hold a local model in 4 bit; needs bitsandbytes and CUDA.'
    )
    image_pixels: int = parameter(
        0,
        description='Most pixels of an image that a local model sees; 0: as its card says.',
        bounds=(0, 16_777_216),
    )
    threads: int = parameter(
        1,
        description='CPU threads of a local model; more than one stall where cores are shared.',
        bounds=(1, 256),
    )
    reasoning_characters: int = parameter(
        600,
        description='Longest reasoning of a local planner before its plan.',
        bounds=(1, 10_000),
    )
    verify_threshold: float = parameter(
        0.5,
        description='Probability of the word True from which a step is done.',
        bounds=(0.001, 0.999),
    )
    potential_high: float = parameter(
        0.9,
        description='Potential at which monitor grm calls the last step done.',
        bounds=(0.001, 1.0),
    )
    potential_low: float = parameter(
        0.8,
        description='Potential below which it is not done any more; at most potential_high.',
        bounds=(0.0, 1.0),
    )
    potential_marks: tuple[float, ...] = parameter(
        (),
        description='Potential at which each step of the task is done, such as 0.2,0.45,0.7,0.9; '
        'empty shares the way evenly.',
        bounds=(0.001, 1.0),
    )
    autostart: bool = parameter(
        True, description='Configure and activate at start, without a lifecycle manager.'
    )

    def __post_init__(self) -> None:
        """Refuse what is not allowed; openai has no default address, local no default model."""
        check_parameters(self)
        if 'openai' in (self.planner, self.monitor):
            examples = {'openai_base_url': 'http://127.0.0.1:8000/v1', 'openai_model': 'NAME'}
            for name, example in examples.items():
                if not getattr(self, name):
                    raise ParameterError(
                        f'parameter {name!r} must be given for an openai backend, '
                        f'such as {name}:={example}'
                    )
        if 'local' in (self.planner, self.monitor) and not self.model:
            raise ParameterError(
                "parameter 'model' must be given for a local backend, such as model:=FOLDER"
            )

        if self.potential_low > self.potential_high:
            raise ParameterError(
                f"parameter 'potential_low' is {self.potential_low:g}; allowed: at most "
                f'potential_high, {self.potential_high:g}'
            )

    @property
    def image_roles(self) -> tuple[str, ...]:
        """Cameras that some backend needs."""
        looks = {'openai', 'local'} & {self.planner, self.monitor}
        return self.roles if looks else ()
