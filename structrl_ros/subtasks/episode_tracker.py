"""One episode of the tracker: plans, verdicts and chunks in, subtask status and rewards out."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence

from structrl_ros.subtasks.chunk_inbox import ChunkFacts
from structrl_ros.subtasks.chunk_inbox import ChunkInbox
from structrl_ros.subtasks.paid_task import PaidTask
from structrl_ros.subtasks.paid_task import RewardFactory
from structrl_ros.subtasks.paid_task import TrackerSettings
from structrl_ros.subtasks.plan_pointer import PlanPointer
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import Reward
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

Output = SubtaskStatus | Reward


class EpisodeTracker:
    """The state of one episode; a new episode has a new object, so nothing leaks.

    Order between topics does not matter: what belongs together is told by stamps. A chunk that
    ended at t_k belongs to the task whose first plan is stamped before t_k, and counts the
    verdicts stamped up to t_k.
    """

    def __init__(
        self,
        start: Episode,
        settings: TrackerSettings,
        make_reward: RewardFactory,
        report: Callable[[str], None],
    ) -> None:
        """Begin; `report` takes one line for each thing that is not as it should be."""
        self.start = start
        self._settings = settings
        self._make_reward = make_reward
        self._report = report
        self._inbox = ChunkInbox(needs_predicates=settings.truth_source == 'predicates')
        self._pointers: list[PlanPointer] = []
        self._verdicts: list[Verdict] = []
        self._newest_verdict_ns = -1
        self._done: list[tuple[Verdict, PlanPointer]] = []
        self._lost: list[int] = []
        self._truth_before: frozenset[str] | None = None
        self._return = 0.0
        self._chunk = 0
        self._now_ns = start.stamp_ns
        self._has_success = False
        self._is_over = start.ended
        #: Tasks with the stamp of their first plan; task 0 is what is paid without any plan.
        self.tasks: list[tuple[int, PaidTask]] = []
        self._open_task(-1, ())

    def end(self) -> list[Output]:
        """Take the end of the episode: there is nothing more to do."""
        changed = bool(self._current) and not self._is_over
        self._is_over = True
        return [*self._close_chunks(), *([self.status()] if changed else [])]

    def add_plan(self, plan: Plan) -> list[Output]:
        """Follow a new revision; revision 1 opens a task, and alone decides what it pays."""
        if any(pointer.plan.stamp_ns > plan.stamp_ns for pointer in self._pointers):
            self._report(f'plan revision {plan.revision} is older than the one followed')
            return []
        if any(pointer.plan == plan for pointer in self._pointers):
            return []
        if plan.revision == 1:
            self._open_task(plan.stamp_ns, plan.subtasks)
        elif not self._pointers:
            self._report(
                f'revision 1 was not seen, revision {plan.revision} was: '
                'until the next task only success is paid'
            )
        self._pointers.append(PlanPointer(plan))
        self._move_pointers()
        return [self.status(), *self._close_chunks()]

    def add_verdict(self, verdict: Verdict) -> list[Output]:
        """Take a verdict; in real time it moves the pointer at once."""
        self._verdicts.append(verdict)
        self._newest_verdict_ns = max(self._newest_verdict_ns, verdict.stamp_ns)
        before = self._current
        self._move_pointers()
        closed = self._close_chunks()
        return closed or ([self.status()] if self._current != before else [])

    def add_predicates(self, predicates: Predicates) -> list[Output]:
        """Take the truth of a chunk."""
        self._inbox.add_predicates(predicates)
        return self._close_chunks()

    def add_done(self, done: ChunkDone) -> list[Output]:
        """Take the end of a chunk."""
        self._inbox.add_done(done)
        return self._close_chunks()

    @property
    def duplicates(self) -> int:
        """Messages about a chunk that had been taken before."""
        return self._inbox.duplicates

    def waiting_for(self) -> str:
        """Return what the next chunk waits for, '' if nothing of it has come."""
        if not self._inbox.has_part:
            return ''
        topics = self._inbox.waiting_for() or ('verdict',)
        return f'chunk {self._chunk + 1} waits for {" and ".join(topics)}'

    def status(self) -> SubtaskStatus:
        """Return where the plan stands now."""
        completed, is_open, blocked = self.tasks[-1][1].standing()
        return SubtaskStatus(
            stamp_ns=self._now_ns,
            episode=self.start.episode,
            chunk=self._chunk,
            revision=self._pointers[-1].plan.revision if self._pointers else 0,
            current='' if self._is_over else self._current,
            completed=completed,
            open=is_open,
            blocked=blocked,
        )

    @property
    def _current(self) -> str:
        return self._pointers[-1].current if self._pointers else ''

    def _open_task(self, since_ns: int, subtasks: Sequence[Subtask]) -> None:
        label = f'episode {self.start.episode} task {len(self.tasks)}'
        task = PaidTask(label, self.start.task, subtasks, self._settings, self._make_reward)
        self.tasks.append((since_ns, task))

    def _move_pointers(self, until_ns: int | None = None) -> None:
        """Apply verdicts: in lock-step up to the last closed chunk, or `until_ns`."""
        if until_ns is None:
            until_ns = self._now_ns if self._settings.lockstep else None
        kept: list[Verdict] = []
        for verdict in self._verdicts:
            if until_ns is not None and verdict.stamp_ns > until_ns:
                kept.append(verdict)
                continue
            pointer = self._pointer_of(verdict)
            if pointer is None:
                if self._may_belong_to_a_coming_plan(verdict):
                    kept.append(verdict)
                continue
            pointer.apply(verdict)
            if verdict.done:
                self._done.append((verdict, pointer))
        self._verdicts = kept

    def _pointer_of(self, verdict: Verdict) -> PlanPointer | None:
        """Return the newest revision that a verdict fits; one of the same instant comes last.

        At one instant a verdict ends an attempt before a plan opens the next.
        """
        fitting = [p for p in reversed(self._pointers) if p.subtask(verdict) is not None]
        earlier = [p for p in fitting if p.plan.stamp_ns < verdict.stamp_ns]
        return next(iter([*earlier, *fitting]), None)

    def _may_belong_to_a_coming_plan(self, verdict: Verdict) -> bool:
        return not self._pointers or verdict.stamp_ns >= self._pointers[-1].plan.stamp_ns

    def _close_chunks(self) -> list[Output]:
        outputs: list[Output] = []
        while (facts := self._inbox.peek()) is not None:
            if facts.stamp_ns is not None:
                self._move_pointers(facts.stamp_ns)
                if self._waits_for_verdict(facts):
                    break
            outputs.extend(self._close(facts))
            self._inbox.pop()
        return outputs

    def _waits_for_verdict(self, facts: ChunkFacts) -> bool:
        """Whether the planner still owes the verdict of the chunk's end (lock-step only)."""
        assert facts.stamp_ns is not None
        if not self._settings.lockstep or self._newest_verdict_ns >= facts.stamp_ns:
            return False
        is_last = facts.terminated or facts.truncated
        if self._settings.truth_source == 'predicates' and (is_last or not self._current):
            return False  # nothing hangs on it: no payment, and nothing is pursued
        before = [p for p in self._pointers if p.plan.stamp_ns < facts.stamp_ns]
        return bool(before) and bool(before[-1].current)

    def _close(self, facts: ChunkFacts) -> list[Output]:
        self._chunk = facts.chunk
        self._now_ns = facts.stamp_ns or self._now_ns
        self._report_gap(facts)
        self._verify(self._now_ns)
        task = self._task_of(facts)
        if not task.is_grounded:
            is_first = self._truth_before is None
            at_reset = self._inbox.at_reset if is_first else self._truth_before
            for line in task.ground(self._inbox.names, at_reset or ()):
                self._report(line)
        earned = task.step(facts.truth, facts.success and not self._has_success)
        self._truth_before = facts.truth
        self._has_success |= facts.success
        self._is_over |= facts.terminated or facts.truncated
        self._return += earned.value
        if facts.stamp_ns is None:
            return []
        reward = Reward(
            stamp_ns=facts.stamp_ns,
            episode=self.start.episode,
            chunk=facts.chunk,
            value=earned.value,
            terms=earned.terms,
            episode_return=self._return,
            terminated=facts.terminated,
            truncated=facts.truncated,
        )
        return [reward, self.status()]

    def _report_gap(self, facts: ChunkFacts) -> None:
        if facts.stamp_ns is None:
            self._lost.append(facts.chunk)
            return
        if self._lost:
            first, last = self._lost[0], self._lost[-1]
            which = f'chunk {first}' if first == last else f'chunks {first} to {last}'
            self._report(
                f'{which}: chunk_done and predicates lost; what is not known pays nothing'
            )
            self._lost = []
        if facts.missing:
            lost = ' and '.join(facts.missing)
            self._report(f'chunk {facts.chunk}: {lost} lost; what is not known pays nothing')

    def _task_of(self, facts: ChunkFacts) -> PaidTask:
        # A chunk of which nothing came is placed by the next one that is known.
        ended_ns = facts.stamp_ns or self._inbox.next_stamp_ns() or self._now_ns
        return next(task for since, task in reversed(self.tasks) if since < ended_ns)

    def _verify(self, until_ns: int) -> None:
        """Tell the tasks what the monitor saw done up to the end of the chunk."""
        later = []
        for verdict, pointer in self._done:
            if verdict.stamp_ns > until_ns:
                later.append((verdict, pointer))
                continue
            subtask = pointer.subtask(verdict)
            since = pointer.plan.stamp_ns
            task = next(t for start, t in reversed(self.tasks) if start <= since)
            if subtask is not None and pointer.verify(verdict.index):
                task.verify(subtask)
        self._done = later
