"""What a person sees while a task runs: one line an event, in order, with the body's time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

if TYPE_CHECKING:
    from structrl_ros.nodes.task_client import Event


#: Beginnings of why a body holds that has nothing to do.
_IDLE = ('no chunk', 'no episode')


class Timeline:
    """Prints the events of a run, with the latest time that the body is known to have had.

    Silent are repeats (same safety state, undecided verdict), and that a body holds which has
    nothing to do: no step is pursued, or its episode has ended.
    """

    def __init__(self, console: Console, *, is_late: bool = False) -> None:
        """Begin at the first event; or, late, at `begin`: what was before is noted in silence."""
        self._console = console
        self._is_waiting = is_late
        self._start_ns: int | None = None
        self._latest_ns = 0
        self._current = ''
        self._safety = (SafetyState.OK, '')
        self.chunks = 0

    def begin(self) -> None:
        """Show what comes from now on; its time and its chunks count from here."""
        self._is_waiting = False
        self._start_ns = None
        self._current = ''
        self.chunks = 0

    def note(self, line: str, *, style: str = 'dim') -> None:
        """Print a line that has no time of its own."""
        self._console.print(f'          {escape(line)}', style=style, highlight=False)

    def show(self, event: Event) -> None:
        """Print what is new in an event, if anything is."""
        is_stale = isinstance(event, Plan) and event.stamp_ns < self._latest_ns
        if self._is_waiting or (self._start_ns is None and is_stale):
            self._latest_ns = max(self._latest_ns, event.stamp_ns)
            self._line(event)
            return
        if self._start_ns is None and event.stamp_ns:
            self._start_ns = self._latest_ns = event.stamp_ns
        is_new_start = isinstance(event, Episode) and not event.ended
        self._latest_ns = max(event.stamp_ns, 0 if is_new_start else self._latest_ns)
        line = self._line(event)
        if line:
            seconds = (self._latest_ns - (self._start_ns or 0)) / 1e9
            self._console.print(f'[dim]{seconds:7.2f} s[/] {line}', highlight=False)

    def _line(self, event: Event) -> str:
        if isinstance(event, Plan):
            return self._plan(event)
        if isinstance(event, Verdict):
            return self._verdict(event)
        if isinstance(event, SubtaskStatus):
            return self._status(event)
        if isinstance(event, Reward):
            return self._reward(event)
        if isinstance(event, Safety):
            return self._safe(event)
        if isinstance(event, ChunkDone):
            self.chunks += 1
            return ''
        return self._episode(event)

    @staticmethod
    def _plan(plan: Plan) -> str:
        if not plan.subtasks:
            return f'[bold]plan {plan.revision}[/]  nothing to do: hold'
        steps = ' [dim]>[/] '.join(escape(s.phrase) for s in plan.subtasks)
        return f'[bold]plan {plan.revision}[/]  {steps} [dim]({escape(plan.planner)})[/]'

    @staticmethod
    def _verdict(verdict: Verdict) -> str:
        if verdict.done:
            milliseconds = verdict.latency * 1e3
            detail = f'{verdict.monitor}, {verdict.confidence:.2f}, {milliseconds:.0f} ms'
            return f'[green]done[/]    {escape(verdict.subtask_id)} [dim]({escape(detail)})[/]'
        if verdict.stop:
            return f'[yellow]stopped[/] {escape(verdict.subtask_id)}'
        return ''

    def _status(self, status: SubtaskStatus) -> str:
        if status.current == self._current:
            return ''
        self._current = status.current
        return f'[cyan]now[/]     {escape(status.current)}' if status.current else ''

    def _reward(self, reward: Reward) -> str:
        if not reward.value:
            return ''
        terms = ', '.join(f'{escape(name)} {value:+.3f}' for name, value in reward.terms if value)
        total = reward.episode_return
        return f'[magenta]reward[/]  chunk {reward.chunk}: {terms} [dim](return {total:.3f})[/]'

    def _safe(self, safety: Safety) -> str:
        is_ended = 'has ended' in safety.reason
        is_idle = not self._current and safety.reason.startswith(_IDLE)
        if safety.state is SafetyState.HOLD and (is_ended or is_idle):
            safety = Safety(safety.stamp_ns, SafetyState.OK, '')
        state = (safety.state, safety.reason)
        if state == self._safety:
            return ''
        self._safety = state
        colour = 'green' if safety.state is SafetyState.OK else 'yellow'
        words = f'{safety.state.name.lower()} {escape(safety.reason)}'.rstrip()
        return f'[{colour}]safety[/]  {words}'

    @staticmethod
    def _episode(episode: Episode) -> str:
        if episode.ended:
            word = '[green]success[/]' if episode.success else '[red]no success[/]'
            return (
                f'[bold]episode {episode.episode} ended[/]: {word} ({escape(episode.end_reason)})'
            )
        where = (
            f'{episode.body} {episode.task}, state {episode.initial_state}, seed {episode.seed}'
        )
        return f'[bold]episode {episode.episode}[/] on {escape(where)}'
