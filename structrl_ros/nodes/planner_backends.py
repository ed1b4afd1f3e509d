"""Planner and monitor of planner_node from its parameters."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from structrl_ros.models.vlm.chat_client import ChatSettings
from structrl_ros.params.planner import PlannerParameters
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.executive import Executive
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.plan.session import TaskSession
from structrl_ros.plan.session_ports import Outputs
from structrl_ros.plan.session_ports import SessionSettings
from structrl_ros.ports import Clock
from structrl_ros.ports import Monitor
from structrl_ros.ports import Planner
from structrl_ros.progress.potential_monitor import PotentialMonitor
from structrl_ros.subtasks.predicate_monitor import PredicateMonitor
from structrl_ros.types import Subtask

if TYPE_CHECKING:
    from structrl_ros.models.vlm.local_monitor import LocalMonitor
    from structrl_ros.models.vlm.local_planner import LocalPlanner


@dataclass(frozen=True, slots=True)
class Backends:
    """A planner and a monitor; `follow` gets each revision's steps, `close` frees both."""

    planner: Planner
    monitor: Monitor
    follow: Callable[[Sequence[Subtask]], None] = lambda steps: None
    close: Callable[[], None] = lambda: None


BackendMaker = Callable[[PlannerParameters], Backends]


def make_backends(parameters: PlannerParameters) -> Backends:
    """Return the backends that the parameters name.

    Raises:
        StructRLError: If one cannot be had: httpx is missing, the address is none, the model is
            missing or cut.
    """
    planner: Planner = RulePlanner()
    monitor: Monitor = PredicateMonitor()
    closing: list[Callable[[], None]] = []
    if 'openai' in (parameters.planner, parameters.monitor):
        from structrl_ros.models.vlm.openai_client import OpenAIMonitor
        from structrl_ros.models.vlm.openai_client import OpenAIPlanner

        roles, image_format = parameters.roles, parameters.image_format
        if parameters.planner == 'openai':
            chat = chat_settings(parameters, parameters.openai_timeout_s)
            planner = talker = OpenAIPlanner(chat, roles, parameters.plan_prompt, image_format)
            closing.append(talker.close)
        if parameters.monitor == 'openai':
            chat = chat_settings(parameters, parameters.openai_verify_timeout_s)
            prompt, least = parameters.verify_prompt, parameters.verify_threshold
            monitor = viewer = OpenAIMonitor(chat, roles, prompt, image_format, least)
            closing.append(viewer.close)
    if 'local' in (parameters.planner, parameters.monitor):
        local_planner, local_monitor = _local(parameters)
        planner, monitor = local_planner or planner, local_monitor or monitor
        closing += [b.close for b in (local_planner, local_monitor) if b is not None]

    if parameters.monitor == 'grm':
        high, low = parameters.potential_high, parameters.potential_low
        monitor = PotentialMonitor(high=high, low=low, marks=parameters.potential_marks)

    def close() -> None:
        for free in closing:
            free()

    if isinstance(monitor, PredicateMonitor | PotentialMonitor):
        return Backends(planner, monitor, monitor.follow, close)
    return Backends(planner, monitor, close=close)


def make_session(
    p: PlannerParameters, backends: Backends, outputs: Outputs, clock: Clock
) -> TaskSession:
    """Return what carries out tasks with these backends, on the body's clock."""
    planner, monitor = backends.planner, backends.monitor
    executive = Executive(executive_settings(p), planner.name, monitor.name)
    return TaskSession(executive, planner, monitor, outputs, session_settings(p), clock)


def executive_settings(p: PlannerParameters) -> ExecutiveSettings:
    """Return the limits of a task."""
    return ExecutiveSettings(
        subtask_timeout_s=p.subtask_timeout_s,
        attempts=p.attempts,
        replans=p.replans,
        confirmations=p.confirmations or (1 if p.monitor == 'predicates' else 2),
        monitor_failures=p.monitor_failures,
        time_limit_s=p.time_limit_s,
        max_steps=p.max_steps,
    )


def session_settings(p: PlannerParameters) -> SessionSettings:
    """Return how the session runs."""
    return SessionSettings(
        lockstep=p.lockstep,
        period_ns=round(1e9 / p.monitor_rate_hz),
        stall_limit_s=p.stall_limit_s,
        monitor_roles=p.roles if p.monitor in ('openai', 'local') else (),
        needs_predicates=p.monitor == 'predicates',
        needs_progress=p.monitor == 'grm',
    )


def chat_settings(p: PlannerParameters, timeout_s: float) -> ChatSettings:
    """Return how an OpenAI-compatible server is asked, a try of at most so many seconds."""
    return ChatSettings(
        base_url=p.openai_base_url,
        model=p.openai_model,
        key_variable=p.openai_key_variable,
        timeout_s=timeout_s,
        retries=p.openai_retries,
    )


def _local(p: PlannerParameters) -> tuple[LocalPlanner | None, LocalMonitor | None]:
    """Return the local backends that are wanted; both share one model.

    Libraries and model live as long as the process. The garbage collector is told so: it would
    walk them between the ticks of the monitor, and for seconds when the process ends.
    """
    import gc

    from structrl_ros.models.vlm.loading import VlmSettings
    from structrl_ros.models.vlm.loading import load_vlm
    from structrl_ros.models.vlm.local_monitor import LocalMonitor
    from structrl_ros.models.vlm.local_planner import LocalPlanner

    vlm = load_vlm(
        VlmSettings(
            model=p.model,
            adapter=p.adapter,
            device=p.device,
            dtype=p.dtype,
            four_bit=p.four_bit,
            image_pixels=p.image_pixels,
            threads=p.threads,
        )
    )
    planner = monitor = None
    if p.planner == 'local':
        planner = LocalPlanner(
            vlm,
            p.roles,
            prompt=p.plan_prompt,
            reasoning_characters=p.reasoning_characters,
            max_steps=p.max_steps,
        )
    if p.monitor == 'local':
        monitor = LocalMonitor(vlm, p.roles, threshold=p.verify_threshold)
    gc.freeze()
    return planner, monitor
