"""What `structrl score` reads: one model a kind. Types are checked here, meaning in the core."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field
from pydantic import Strict

#: A finite number; NaN and infinity are refused.
Finite = Annotated[float, Field(allow_inf_nan=False)]
#: A number that may be missing (null).
Optional = Finite | None
#: A whole number of moderate size, so that a slip cannot ask for all memory.
Whole = Annotated[int, Field(ge=-1_000_000_000, le=1_000_000_000)]
Count = Annotated[int, Field(le=10_000)]
#: A potential pair of Robo-Dopamine 2.0: before, after, and the two flags.
Pair = Annotated[tuple[Finite, Finite, bool, bool], Strict(False)]


class Input(BaseModel):
    """Base of all: no unknown field, no silent conversion."""

    model_config = ConfigDict(strict=True, extra='forbid', frozen=True)


class StructuredRewardInput(Input):
    """StructRL Eq. 3 and 4; a duration of null filters the subtask out."""

    stages: list[list[str]]
    durations: dict[str, Optional] = {}
    truth: list[list[str]]
    success: list[bool]
    beta: Finite = 0.6
    lambda_c: Finite = 2.0
    gating: bool = True
    pacing: str = 'demo'
    horizon_chunks: Optional = None
    cap: Optional = None
    at_reset: list[str] = []


class DemoDurationsInput(Input):
    """First true low-level step of each subtask in each demonstration."""

    stages: list[list[str]]
    demos: list[dict[str, Whole | None]]
    chunk_length: Whole


class RobometerInput(Input):
    """StructRL Eq. 5."""

    progress: list[Finite]
    first_success: Whole | None
    beta_r: Finite
    lambda_c: Finite = 2.0


class StepInput(Input):
    """A step of a plan."""

    action: str
    objects: list[str]


class PlanRewardInput(Input):
    """REVER's content reward of a plan."""

    generated: list[StepInput]
    truth: list[StepInput]
    ontology: list[list[str]] = []
    w_action: Finite = 0.3
    w_object: Finite = 0.7
    w_length: Finite = 0.1


class SignedHopInput(Input):
    """Robo-Dopamine 2.0 Eq. 7 to 9."""

    pairs: list[Pair]


class FuseInput(Input):
    """Robo-Dopamine 2.0 Eq. 12 to 17; null is a prediction that could not be parsed."""

    forward: list[Optional]
    backward: list[Optional]
    incremental: list[Optional]


class ShapeInput(Input):
    """Robo-Dopamine 2.0 Eq. 18."""

    task_rewards: list[Finite]
    potential: list[Finite]
    gamma: Finite
    terminal: bool


class PanelsInput(Input):
    """Robo-Dopamine 2.0 Eq. 2 and 3."""

    t_before: Whole
    t_after: Whole
    pre_panels: Annotated[int, Field(le=100)]
    between_panels: Annotated[int, Field(le=100)]
    grid: Annotated[int, Field(le=64)]


class VocInput(Input):
    """Visual order consistency; values that are not finite give null."""

    hops: list[float | None]
    truth: list[float | None]
    floors: list[float | None]


class GaeInput(Input):
    """Generalised advantage estimation."""

    rewards: list[Finite]
    values: list[Finite]
    terminated: list[bool]
    truncated: list[bool]
    bootstrap: list[Optional]
    gamma: Finite
    trace_decay: Finite = Field(alias='lambda')


class GroupAdvantagesInput(Input):
    """Group-relative advantages; null is a return that could not be scored."""

    returns: list[Optional]
    groups: list[int | str]


class TruncationInput(Input):
    """MART-GRPO's failure truncation."""

    advantages: list[Finite]
    success: list[bool]
    valid_chunks: list[Count]
    boundary: list[Whole | None]


class ParsePlanInput(Input):
    """Text of a model, and the names in the scene."""

    text: str
    objects: list[str] | None = None
    max_steps: int = 20
