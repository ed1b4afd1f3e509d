"""The tracker: where the plan stands, and what each chunk earned; pure, fed message by message.

    tracker = Tracker(TrackerSettings(lockstep=True), StructuredReward)
    for output in tracker.consume(message):     # Episode, Plan, Verdict, Predicates, ChunkDone
        publish(output)                         # SubtaskStatus or Reward

The same object runs in tracker_node, on a replayed bag and beside a trainer, and gives the same
numbers, whatever the order in which the topics came (each topic keeps its own order).
"""

from __future__ import annotations

from collections import deque

from structrl_ros.subtasks.episode_tracker import EpisodeTracker
from structrl_ros.subtasks.episode_tracker import Output
from structrl_ros.subtasks.paid_task import PaidTask
from structrl_ros.subtasks.paid_task import RewardFactory
from structrl_ros.subtasks.paid_task import TrackerSettings
from structrl_ros.types import ChunkDone
from structrl_ros.types import Episode
from structrl_ros.types import JsonObject
from structrl_ros.types import Plan
from structrl_ros.types import Predicates
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

__all__ = ['Message', 'Output', 'Tracker', 'TrackerSettings']

Message = Episode | Plan | Verdict | Predicates | ChunkDone

#: Episodes that still take messages; the older ones are closed for good.
OPEN_EPISODES = 3
#: Plans, verdicts and chunks that are kept for an episode whose start is yet to come.
HELD_MESSAGES = 1000
#: Tasks that `Tracker.trace` remembers.
REMEMBERED_TASKS = 1000


class Tracker:
    """Keeps one `EpisodeTracker` an episode and hands every message to the right one.

    Chunks carry their episode; plans and verdicts belong to the newest episode that began no
    later than their stamp. What comes before the start of its episode is held until then.
    """

    def __init__(self, settings: TrackerSettings, make_reward: RewardFactory) -> None:
        """Take the settings and the reward, `rewards.structured.StructuredReward`."""
        self._settings = settings
        self._make_reward = make_reward
        self._episodes: dict[int, EpisodeTracker] = {}
        self._planning: deque[Plan | Verdict] = deque(maxlen=HELD_MESSAGES)
        self._early: deque[Predicates | ChunkDone] = deque(maxlen=HELD_MESSAGES)
        self._tasks: deque[PaidTask] = deque(maxlen=REMEMBERED_TASKS)
        self._reports: list[str] = []
        self._dropped = 0

    def consume(self, message: Message) -> list[Output]:
        """Take a message and return what is to be published, in order."""
        if isinstance(message, Episode):
            return self._consume_episode(message)
        if isinstance(message, Plan | Verdict):
            self._planning.append(message)
            return self._consume_planning(message)
        episode = self._episodes.get(message.episode)
        if episode is not None:
            if isinstance(message, ChunkDone):
                return self._newest_only(episode, episode.add_done(message))
            return self._newest_only(episode, episode.add_predicates(message))
        if message.episode > max(self._episodes, default=-1):
            self._early.append(message)
        else:
            self._dropped += 1
        return []

    def take_reports(self) -> list[str]:
        """Return, and forget, what was not as it should be: one line each."""
        reports, self._reports = self._reports, []
        return reports

    def waiting_for(self) -> str:
        """Return what the newest episode's next chunk waits for, '' if nothing."""
        newest = self._newest()
        return newest.waiting_for() if newest is not None else ''

    @property
    def ignored(self) -> int:
        """Messages that were duplicates or of an episode long gone."""
        return self._dropped + sum(e.duplicates for e in self._episodes.values())

    def trace(self) -> JsonObject:
        """Return what was consumed as a document for `structrl score structured_reward`.

        One case for each task of each episode, in order; the rewards of the cases, one after
        another, are those that were given, to the last bit.
        """
        cases = [case for task in self._tasks if (case := task.trace_case()) is not None]
        return {'kind': 'structured_reward', 'cases': cases}

    def _consume_episode(self, message: Episode) -> list[Output]:
        known = self._episodes.get(message.episode)
        if known is not None and (message.ended or message == known.start):
            return self._newest_only(known, known.end() if message.ended else [])
        if message.episode <= max(self._episodes, default=-1):
            self._forget_body(message)
        episode = EpisodeTracker(message, self._settings, self._make_reward, self._reports.append)
        self._episodes[message.episode] = episode
        for old in sorted(self._episodes)[:-OPEN_EPISODES]:
            self._dropped += self._episodes.pop(old).duplicates
        self._remember(episode)
        outputs: list[Output] = [episode.status()]
        for plan_or_verdict in list(self._planning):
            if plan_or_verdict.stamp_ns >= message.stamp_ns:
                outputs.extend(self._consume_planning(plan_or_verdict))
        early, self._early = self._early, deque(maxlen=HELD_MESSAGES)
        for chunk_message in early:
            outputs.extend(self.consume(chunk_message))
        return outputs

    def _forget_body(self, message: Episode) -> None:
        """Forget what came from a body that was started anew and counts from 1 again."""
        self._reports.append(f'the body began anew with episode {message.episode}')
        self._episodes.clear()
        self._planning.clear()
        self._early.clear()

    def _consume_planning(self, message: Plan | Verdict) -> list[Output]:
        begun = [e for e in self._episodes.values() if e.start.stamp_ns <= message.stamp_ns]
        if not begun:
            return []
        episode = max(begun, key=lambda e: e.start.episode)
        if isinstance(message, Verdict):
            return self._newest_only(episode, episode.add_verdict(message))
        outputs = episode.add_plan(message)
        self._remember(episode)
        return self._newest_only(episode, outputs)

    def _remember(self, episode: EpisodeTracker) -> None:
        for _, task in episode.tasks:
            if task not in self._tasks:
                self._tasks.append(task)

    def _newest(self) -> EpisodeTracker | None:
        return self._episodes[max(self._episodes)] if self._episodes else None

    def _newest_only(self, episode: EpisodeTracker, outputs: list[Output]) -> list[Output]:
        """Drop the status of an episode that is not the newest; its rewards still count."""
        if episode is self._newest():
            return outputs
        return [output for output in outputs if not isinstance(output, SubtaskStatus)]
