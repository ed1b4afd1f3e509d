"""REVER's Algorithm 1 as a pure state machine: plan, run each step, verify, retry, replan.

No threads, no ROS, no clock of its own: every input carries the time of the body in nanoseconds
and returns the commands that follow from it. Calls of planner and monitor are commands as well;
their answers come back as inputs with the number of the call, and an answer to an old call is
dropped. Every retry and every replan is a new revision of the plan that lists what is left.
"""

from __future__ import annotations

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlanSyntaxError
from structrl_ros.errors import StaleDataError
from structrl_ros.errors import StructRLError
from structrl_ros.plan.attempt import Attempt
from structrl_ros.plan.commands import AskMonitor
from structrl_ros.plan.commands import AskPlanner
from structrl_ros.plan.commands import Command
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.commands import Finish
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.commands import PublishPlan
from structrl_ros.plan.commands import PublishVerdict
from structrl_ros.plan.commands import State
from structrl_ros.plan.dialogue import Dialogue
from structrl_ros.plan.numbering import renumber
from structrl_ros.plan.parse import to_plan
from structrl_ros.types import FailedAttempt
from structrl_ros.types import Judgement
from structrl_ros.types import Observation
from structrl_ros.types import Plan
from structrl_ros.types import PlanRequest
from structrl_ros.types import Subtask
from structrl_ros.types import Verdict

_SECOND = 1_000_000_000
_REASONING_KEPT = 4000


class Executive:
    """One task at a time; `start` begins the next one once `state` is no longer running.

    Attributes:
        state: Where the task stands.
        plan: The newest revision; None before the first. An ended task may have an empty one.
        shown_plan: The newest revision that lists steps.
        index: The current step within the revision, from 0.
        replans: New plans asked for so far.
    """

    def __init__(self, settings: ExecutiveSettings, planner: str, monitor: str) -> None:
        """Begin idle; the names of planner and monitor go into plans, verdicts and reasons."""
        self.settings = settings
        self.state = State.IDLE
        self._monitor = monitor
        self._dialogue = Dialogue(settings, planner)
        self._calls = 0
        self._begin(Goal(''), Observation(0, 0), 0)

    def _begin(self, goal: Goal, observation: Observation, now_ns: int) -> None:
        """Forget the task before."""
        self.plan: Plan | None = None
        self.shown_plan: Plan | None = None
        self.index, self.replans = 0, 0
        self._goal, self._newest = goal, observation
        self._limit_s = goal.time_limit_s or self.settings.time_limit_s
        self._end_ns = now_ns + round(self._limit_s * _SECOND)
        self._completed: list[Subtask] = []
        self._failures = 0
        self._attempt = Attempt(observation, now_ns)

    @property
    def current(self) -> Subtask | None:
        """The step that is being executed."""
        if self.state is not State.EXECUTING or self.plan is None:
            return None
        return self.plan.subtasks[self.index]

    def start(self, goal: Goal, observation: Observation, now_ns: int) -> list[Command]:
        """Begin a task with its first observation (lines 2 to 5 of the algorithm).

        Raises:
            ParameterError: If a task is running, or the time limit is negative.
        """
        if self.state.is_running:
            raise ParameterError(f'a task is {self.state.value}; allowed: one at a time')
        if not goal.time_limit_s >= 0:
            raise ParameterError(f'time_limit is {goal.time_limit_s}; allowed: at least 0 seconds')
        self._begin(goal, observation, now_ns)
        self.state = State.PLANNING
        request = PlanRequest(goal.instruction, goal.vocabulary, observation)
        return [self._dialogue.ask(request)]

    def plan_text(self, number: int, text: str, now_ns: int) -> list[Command]:
        """Take the planner's text; an invalid one goes back to it with the exact error."""
        if not self._dialogue.expects(number):
            return []
        try:
            answer = self._dialogue.read(text)
        except PlanSyntaxError as error:
            return self._end(State.FAILED, str(error), now_ns)
        if isinstance(answer, AskPlanner):
            return [answer]
        self.state = State.EXECUTING
        steps = renumber(to_plan(answer), self._completed)
        return [self._revise(steps, answer.reasoning or '', now_ns)]

    def plan_failed(self, number: int, error: StructRLError, now_ns: int) -> list[Command]:
        """Take the planner's failure; it ends the task, no other planner steps in."""
        if not self._dialogue.expects(number):
            return []
        is_down = not isinstance(error, PlanSyntaxError)
        said = f'planner {self._dialogue.planner} gave no plan: ' if is_down else ''
        return self._end(State.FAILED, f'{said}{error}', now_ns)

    def tick(
        self, observation: Observation, now_ns: int, *, may_ask: bool = True
    ) -> list[Command]:
        """Look at time limits, then ask the monitor about the current step if it is free.

        Args:
            observation: The newest one; a verdict carries its stamp.
            now_ns: Time of the body.
            may_ask: False looks at time limits only.
        """
        if not self.state.is_running:
            return []
        self._newest, stamp = observation, observation.stamp_ns
        if now_ns >= self._end_ns:
            reason = f'time limit of {self._limit_s:g} s reached while {self.state.value}'
            return self._give_up(f'{reason}{self._place()}', stamp, now_ns)
        current = self.current
        if current is None:
            return []
        if now_ns - self._attempt.since_ns >= round(self.settings.subtask_timeout_s * _SECOND):
            return self._time_out(stamp, now_ns)
        if self._attempt.is_asking or not may_ask:
            return []
        return [self._ask_monitor(current)]

    def judged(
        self, number: int, judgement: Judgement, latency_s: float, now_ns: int
    ) -> list[Command]:
        """Take the monitor's answer (lines 29 and 13 to 15)."""
        asked = self._attempt.take(number)
        if asked is None or self.current is None:
            return []
        self._failures = 0
        is_done = self._attempt.confirms(asked, judgement, self.settings.confirmations)
        verdict = self._verdict(asked.now.stamp_ns, is_done, judgement.confidence, latency_s)
        return [verdict, *self._advance(asked.now, now_ns)] if is_done else [verdict]

    def monitor_failed(
        self, number: int, error: StructRLError, latency_s: float, now_ns: int
    ) -> list[Command]:
        """Take the monitor's failure.

        Missing data only costs the tick. A step that the monitor can never judge leaves the plan,
        as StructRL drops what has no predicate (Appendix B.2). Anything else counts, and
        `monitor_failures` in a row end the task.
        """
        asked = self._attempt.take(number)
        if asked is None or self.current is None:
            return []
        self._attempt.doubt()
        if isinstance(error, ParameterError):
            return self._leave_out(asked, error, now_ns)
        self._failures += not isinstance(error, StaleDataError)
        if self._failures < self.settings.monitor_failures:
            return [self._verdict(asked.now.stamp_ns, False, 0.0, latency_s)]
        times = f'failed {self._failures} times in a row'
        reason = f'monitor {self._monitor} {times}: {error}{self._place()}'
        return self._give_up(reason, asked.now.stamp_ns, now_ns)

    def episode_ended(self, success: bool, reason: str, now_ns: int) -> list[Command]:
        """Take the end of the body's episode; success counts if the body judges this task."""
        if not self.state.is_running:
            return []
        if success and self._goal.body_judges:
            return self._end(State.DONE, f'the body reports success{self._place()}', now_ns)
        why = f'the episode ended: {reason or "no reason given"}{self._place()}'
        return self._end(State.FAILED, why, now_ns)

    def abort(self, reason: str, now_ns: int) -> list[Command]:
        """End the task from outside: the body is silent, the node shuts down."""
        return self._end(State.FAILED, reason, now_ns) if self.state.is_running else []

    def cancel(self, now_ns: int) -> list[Command]:
        """End the task because its owner wants so."""
        if not self.state.is_running:
            return []
        return self._end(State.CANCELLED, f'cancelled{self._place()}', now_ns)

    def _revise(self, steps: tuple[Subtask, ...], reasoning: str, now_ns: int) -> PublishPlan:
        """Return a new revision and make its first step the current one."""
        revision = 1 if self.plan is None else self.plan.revision + 1
        shown = reasoning[:_REASONING_KEPT].encode('utf-8', 'replace').decode('utf-8')
        stamp, sentence = self._newest.stamp_ns, self._goal.instruction
        self.plan = Plan(stamp, revision, sentence, steps, shown, self._dialogue.planner)
        self.shown_plan = self.plan if steps else self.shown_plan
        self.index = 0
        self._attempt = Attempt(self._newest, now_ns)
        return PublishPlan(self.plan)

    def _ask_monitor(self, subtask: Subtask) -> AskMonitor:
        self._calls += 1
        return self._attempt.ask(self._calls, subtask, self._newest)

    def _verdict(
        self, stamp_ns: int, done: bool, confidence: float, latency_s: float, stop: bool = False
    ) -> PublishVerdict:
        current, plan = self.current, self.plan
        assert current is not None and plan is not None
        return PublishVerdict(
            Verdict(
                stamp_ns=stamp_ns,
                revision=plan.revision,
                index=self.index,
                subtask_id=current.id,
                done=done,
                confidence=confidence,
                latency=latency_s,
                monitor=self._monitor,
                stop=stop,
            )
        )

    def _stop(self, stamp_ns: int) -> list[Command]:
        """Return the verdict that ends the attempt under way, if there is one."""
        if self.current is None:
            return []
        return [self._verdict(stamp_ns, False, self._attempt.confidence, 0.0, stop=True)]

    def _advance(self, observation: Observation, now_ns: int) -> list[Command]:
        """Go to the next step; after the last one the task is done."""
        assert self.plan is not None
        self._completed.append(self.plan.subtasks[self.index])
        if self.index + 1 < len(self.plan.subtasks):
            self.index += 1
            self._attempt = Attempt(observation, now_ns)
            return []
        truth = observation.predicates
        if self._goal.body_judges and truth is not None and not truth.success:
            reason = 'every step was verified, yet the body reports no success'
            return self._end(State.FAILED, reason, now_ns)
        self.state = State.DONE
        return [Finish(True, f'all {len(self._completed)} steps verified')]

    def _time_out(self, stamp_ns: int, now_ns: int) -> list[Command]:
        """Try the step again, or ask for a new plan (lines 17 to 20), or give up."""
        plan, settings, attempt = self.plan, self.settings, self._attempt.number
        assert plan is not None
        limit = f'{settings.subtask_timeout_s:g} s'
        reason = f'not done within {limit}, attempt {attempt} of {settings.attempts}'
        if attempt < settings.attempts:
            stop = self._stop(stamp_ns)
            command = self._revise(plan.subtasks[self.index :], f'tried again: {reason}', now_ns)
            self._attempt = Attempt(self._newest, now_ns, attempt + 1)
            return [*stop, command]
        if self.replans >= settings.replans:
            tried = f'{reason}, after {self.replans} replans{self._place()}'
            return self._give_up(tried, stamp_ns, now_ns)
        stop = self._stop(stamp_ns)
        self.replans += 1
        self.state = State.REPLANNING
        failed = FailedAttempt(plan, self.index, f'{plan.subtasks[self.index].phrase}: {reason}')
        goal = self._goal
        request = PlanRequest(goal.instruction, goal.vocabulary, self._newest, failed)
        return [*stop, self._dialogue.ask(request)]

    def _leave_out(self, asked: AskMonitor, error: ParameterError, now_ns: int) -> list[Command]:
        """Publish the plan without a step that cannot be judged, and judge the next."""
        assert self.plan is not None
        left = self.plan.subtasks[self.index + 1 :]
        if not left:
            return self._give_up(f'{error}{self._place()}', asked.now.stamp_ns, now_ns)
        command = self._revise(left, f'left out, it cannot be judged: {error}', now_ns)
        return [command, self._ask_monitor(left[0])]

    def _place(self) -> str:
        """Return where the task stands, for a reason."""
        step = self.current
        if step is None or self.plan is None:
            return ''
        return f', at step {self.index + 1} of {len(self.plan.subtasks)} ({step.phrase})'

    def _give_up(self, reason: str, stamp_ns: int, now_ns: int) -> list[Command]:
        """Stop the attempt under way and end the task without success."""
        return [*self._stop(stamp_ns), *self._end(State.FAILED, reason, now_ns)]

    def _end(self, state: State, reason: str, now_ns: int) -> list[Command]:
        """End the task with steps open or none planned; an empty plan tells the arm to hold."""
        hold = [] if self.plan is None else [self._revise((), reason, now_ns)]
        self.state = state
        self._dialogue.close()
        return [*hold, Finish(state is State.DONE, reason)]
