"""One function a kind of `structrl score`: the checked input in, the output out."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

from structrl_ros.cli import score_inputs as inputs
from structrl_ros.types import JsonObject
from structrl_ros.types import RewardRule


def score_structured_reward(case: inputs.StructuredRewardInput) -> JsonObject:
    """Score a recorded episode by StructRL Eq. 3 and 4."""
    from structrl_ros.rewards.structured import score_episode
    from structrl_ros.subtasks.durations import drop_untimed

    stages, durations = drop_untimed(case.stages, case.durations)
    fields = case.model_dump(exclude={'stages', 'durations', 'truth', 'success', 'at_reset'})
    rule = RewardRule(stages=stages, durations=durations, **fields)
    chunks = score_episode(rule, case.truth, case.success, case.at_reset)
    events = [[k, name, paid] for k, chunk in enumerate(chunks, 1) for name, paid in chunk.events]
    return {'rewards': [chunk.value for chunk in chunks], 'events': events}


def score_demo_durations(case: inputs.DemoDurationsInput) -> JsonObject:
    """Measure reference durations."""
    from structrl_ros.subtasks.durations import demo_durations

    result = demo_durations(case.stages, case.demos, case.chunk_length)
    return {'durations': result.durations, 'coverage': result.coverage}


def score_robometer(case: inputs.RobometerInput) -> JsonObject:
    """Convert learned progress to rewards by StructRL Eq. 5."""
    from structrl_ros.rewards.robometer import robometer_rewards

    return {'rewards': robometer_rewards(**dict(case)).tolist()}


def score_plan_reward(case: inputs.PlanRewardInput) -> JsonObject:
    """Score a plan by REVER's content reward."""
    from structrl_ros.plan.grammar import Step
    from structrl_ros.plan.reward import plan_reward

    generated, truth = (
        [Step(step.action, tuple(step.objects)) for step in plan]
        for plan in (case.generated, case.truth)
    )
    weights = case.model_dump(include={'w_action', 'w_object', 'w_length'})
    return {'content': plan_reward(generated, truth, case.ontology, **weights)}


def score_signed_hop(case: inputs.SignedHopInput) -> JsonObject:
    """Turn pairs of potentials to hops and labels."""
    from structrl_ros.progress.hop import LABEL_SCALE
    from structrl_ros.progress.hop import signed_hop

    hops = signed_hop(*zip(*case.pairs, strict=True)).tolist() if case.pairs else []
    return {'hops': hops, 'labels': [LABEL_SCALE * hop for hop in hops]}


def score_fuse(case: inputs.FuseInput) -> JsonObject:
    """Fuse three anchors; `valid` is added where a prediction is missing."""
    from structrl_ros.progress.fusion import fuse

    anchors = (case.forward, case.backward, case.incremental)
    fused = fuse(*(_nan_for_none(hops) for hops in anchors))
    output: JsonObject = {
        'potential': fused.potential.tolist(),
        'negative_branch': fused.negative_branch.astype(int).tolist(),
    }
    return output if fused.valid.all() else {**output, 'valid': fused.valid.tolist()}


def score_shape(case: inputs.ShapeInput) -> JsonObject:
    """Add the shaping term of Robo-Dopamine 2.0 Eq. 18."""
    from structrl_ros.rewards.shaping import shape_rewards

    return {'rewards': shape_rewards(**dict(case)).tolist()}


def score_panels(case: inputs.PanelsInput) -> JsonObject:
    """Choose the frames of the context panels."""
    from structrl_ros.progress.panels import PADDING
    from structrl_ros.progress.panels import panel_indices

    panels = panel_indices(**dict(case))
    pre, between = (
        [[None if frame == PADDING else frame for frame in panel] for panel in group.tolist()]
        for group in (panels.before, panels.between)
    )
    return {'pre': pre, 'between': between}


def score_voc(case: inputs.VocInput) -> JsonObject:
    """Correlate accumulated progress with the true order."""
    from structrl_ros.progress.voc import compute_voc

    return {'voc': compute_voc(*map(_nan_for_none, (case.hops, case.truth, case.floors)))}


def score_gae(case: inputs.GaeInput) -> JsonObject:
    """Estimate advantages and returns."""
    from structrl_ros.learning.gae import estimate_advantages

    fields = {**dict(case), 'bootstrap': _nan_for_none(case.bootstrap)}
    result = estimate_advantages(**fields)
    return {'advantages': result.advantages.tolist(), 'returns': result.returns.tolist()}


def score_group_advantages(case: inputs.GroupAdvantagesInput) -> JsonObject:
    """Compare each rollout with its group."""
    from structrl_ros.learning.groups import group_advantages

    result = group_advantages(_nan_for_none(case.returns), case.groups)
    return {'advantages': result.advantages.tolist()}


def score_truncation(case: inputs.TruncationInput) -> JsonObject:
    """Weigh chunks by MART-GRPO."""
    from structrl_ros.learning.truncation import truncate_failures

    result = truncate_failures(**dict(case))
    return {
        'weights': result.rows(),
        'retained_negative_mass': result.retained_negative_mass,
    }


def score_parse_plan(case: inputs.ParsePlanInput) -> JsonObject:
    """Read the plan in a model's text."""
    from structrl_ros.plan.parse import parse_plan

    plan = parse_plan(case.text, objects=case.objects, max_steps=case.max_steps)
    return {
        'steps': [{'action': s.action, 'objects': list(s.objects)} for s in plan.steps],
        'stages': [list(stage) for stage in plan.stages],
        'reasoning': plan.reasoning,
        'format': plan.format,
    }


def _nan_for_none(values: Iterable[float | None]) -> list[float]:
    return [math.nan if value is None else value for value in values]


#: Kind to the model of its input and the function that scores it.
KINDS: dict[str, tuple[type[inputs.Input], Callable[[Any], JsonObject]]] = {
    'structured_reward': (inputs.StructuredRewardInput, score_structured_reward),
    'demo_durations': (inputs.DemoDurationsInput, score_demo_durations),
    'robometer': (inputs.RobometerInput, score_robometer),
    'plan_reward': (inputs.PlanRewardInput, score_plan_reward),
    'signed_hop': (inputs.SignedHopInput, score_signed_hop),
    'fuse': (inputs.FuseInput, score_fuse),
    'shape': (inputs.ShapeInput, score_shape),
    'panels': (inputs.PanelsInput, score_panels),
    'voc': (inputs.VocInput, score_voc),
    'gae': (inputs.GaeInput, score_gae),
    'group_advantages': (inputs.GroupAdvantagesInput, score_group_advantages),
    'truncation': (inputs.TruncationInput, score_truncation),
    'parse_plan': (inputs.ParsePlanInput, score_parse_plan),
}
