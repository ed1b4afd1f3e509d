"""Rollouts of the corpus as questions to a vision-language model, with their true answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from torch import Tensor

from structrl_ros.errors import ParameterError
from structrl_ros.models.events.answer import write_answer
from structrl_ros.models.events.question import PROMPT
from structrl_ros.models.events.question import event_messages
from structrl_ros.models.events.question import shown_frames
from structrl_ros.models.vlm.encoding import IMAGE_PART
from structrl_ros.models.vlm.questions import read_prompt
from structrl_ros.training.event_episode import EventEpisode
from structrl_ros.training.planner_batches import with_answers
from structrl_ros.training.planner_questions import conversation_text
from structrl_ros.types import UInt8

#: Questions whose pictures are kept decoded.
_KEPT = 2048


class EventQuestions:
    """Questions and answers about episodes of the corpus.

    The answer is what the simulator's label says; its evidence are the frames nearest to it. A
    rollout that succeeded is asked as well, so that the model learns to tell (Section E.2).
    """

    def __init__(self, processor: Any, episodes: Sequence[EventEpisode], frames: int) -> None:
        """Take episodes with pictures.

        Raises:
            ParameterError: If there is none, or one has no pictures.
        """
        bare = next((episode for episode in episodes if not episode.images), None)
        if bare is not None or not episodes:
            got = 'no rollout' if bare is None else f'{bare.id} without pictures'
            raise ParameterError(
                f'{got}; allowed: a set made by structrl data events --pictures 8'
            )
        self._processor, self._episodes, self._frames = processor, tuple(episodes), frames
        self._prompt = read_prompt(PROMPT)
        tokenizer = processor.tokenizer
        self._pad = int(tokenizer.pad_token_id)
        self._answers = [
            [*tokenizer.encode(true_answer(e), add_special_tokens=False), tokenizer.eos_token_id]
            for e in episodes
        ]
        self._question = lru_cache(maxsize=_KEPT)(self._ask)

    def __len__(self) -> int:
        """Return how many."""
        return len(self._episodes)

    def batch(self, numbers: Sequence[int]) -> dict[str, Tensor]:
        """Return questions with answers, which alone have labels."""
        asked = [self._question(number) for number in numbers]
        from PIL import Image

        inputs = self._processor(
            text=[text for text, _ in asked],
            images=[[Image.fromarray(picture) for picture in shown] for _, shown in asked],
            padding=True,
            padding_side='left',
            return_tensors='pt',
        )
        answers = [self._answers[number] for number in numbers]
        return with_answers(dict(inputs), answers, self._pad)

    def _ask(self, number: int) -> tuple[str, tuple[UInt8, ...]]:
        episode = self._episodes[number]
        rollout = episode.rollout()
        shown = shown_frames(rollout, self._frames)
        messages, pictures = event_messages(
            rollout, self._prompt, shown, episode.roles, lambda _: IMAGE_PART
        )
        return conversation_text(self._processor, messages), tuple(pictures)


def true_answer(episode: EventEpisode) -> str:
    """Return the answer that imitation teaches."""
    label = episode.label
    evidence = episode.rollout().frames_near(label.evidence) if label.evidence else ()
    return write_answer(dataclasses.replace(label, evidence=evidence))


def tasks_alike(episodes: Sequence[EventEpisode], most: int) -> list[EventEpisode]:
    """Return at most so many episodes, of every task alike and in their order; 0 is all."""
    if not most or len(episodes) <= most:
        return list(episodes)
    places: dict[str, int] = {}
    ranked = []
    for number, episode in enumerate(episodes):
        place = places.get(episode.task, 0)
        places[episode.task] = place + 1
        ranked.append((place, number))
    chosen = sorted(number for _, number in sorted(ranked)[:most])
    return [episodes[number] for number in chosen]
