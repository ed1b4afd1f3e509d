"""Event models that look at pictures: on an OpenAI-compatible server, or in this process.

The server needs `httpx` and `pillow`; the local one `torch`, `transformers`, `pillow` and
`xgrammar`, and takes a LoRA adapter, as `structrl train events` makes them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.models.events.answer import answer_schema
from structrl_ros.models.events.answer import read_answer
from structrl_ros.models.events.question import PROMPT
from structrl_ros.models.events.question import event_messages
from structrl_ros.models.events.question import shown_frames
from structrl_ros.models.vlm.chat_client import ChatClient
from structrl_ros.models.vlm.chat_client import ChatSettings
from structrl_ros.models.vlm.loading import LoadedVlm
from structrl_ros.models.vlm.pictures import image_part
from structrl_ros.models.vlm.questions import read_prompt
from structrl_ros.types import EventReview
from structrl_ros.types import FailedRollout

#: Frames of each camera that are shown.
FRAMES = 8


class ServerEvents:
    """Port EventModel on a server."""

    def __init__(
        self,
        settings: ChatSettings,
        roles: Sequence[str] = ('head',),
        *,
        frames: int = FRAMES,
        prompt: str = PROMPT,
    ) -> None:
        """Read the prompt; nothing is sent yet.

        Args:
            settings: Where and how to ask.
            roles: Cameras whose pictures are shown.
            frames: Most frames, evenly over the rollout.
            prompt: Name of the prompt.

        Raises:
            ParameterError: If the prompt is unknown, or a package is missing.
        """
        self.name = f'openai:{settings.model}'
        self._roles, self._frames = tuple(roles), frames
        self._prompt = read_prompt(prompt)
        self._client = ChatClient(settings)

    def review(self, rollout: FailedRollout) -> EventReview:
        """Return the server's review.

        Raises:
            PlannerUnavailableError: If the server gave no answer.
            AnswerError: If it answered with something else than a review.
            ParameterError: If the rollout has no pictures of a camera.
        """
        frames = shown_frames(rollout, self._frames)
        messages, _ = event_messages(rollout, self._prompt, frames, self._roles, image_part)
        text = self._client.complete(messages, answer_schema(), 'review')
        return read_answer(text, chunks=rollout.chunks, frames=len(rollout.frame_chunks))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class LocalEvents:
    """Port EventModel on a model of this process, greedy, held to the schema by a grammar."""

    def __init__(
        self,
        vlm: LoadedVlm,
        roles: Sequence[str] = ('head',),
        *,
        frames: int = FRAMES,
        prompt: str = PROMPT,
        max_tokens: int = 400,
    ) -> None:
        """Prepare the decoder; arguments as for `ServerEvents`, and the longest answer.

        Raises:
            ParameterError: If the prompt is unknown, or xgrammar is missing.
            CheckpointError: If the tokenizer is of a kind that xgrammar does not take.
        """
        from structrl_ros.models.vlm.constrained import grammar_compiler

        self.name = f'local:{vlm.name}'
        self._vlm, self._roles, self._frames = vlm, tuple(roles), frames
        self._prompt, self._max_tokens = read_prompt(prompt), max_tokens
        self._compiler = grammar_compiler(vlm)

    def review(self, rollout: FailedRollout) -> EventReview:
        """Return the model's review.

        Raises:
            PlannerUnavailableError: If the model fails, as without memory.
            AnswerError: If the answer was cut, or its interval runs backwards.
            ParameterError: If the rollout has no pictures of a camera.
            MessageError: If a picture is none.
        """
        from structrl_ros.models.vlm.constrained import generate_text
        from structrl_ros.models.vlm.encoding import IMAGE_PART
        from structrl_ros.models.vlm.encoding import encode
        from structrl_ros.models.vlm.loading import first_line

        shown = shown_frames(rollout, self._frames)
        messages, pictures = event_messages(
            rollout, self._prompt, shown, self._roles, lambda _: IMAGE_PART
        )
        count = len(rollout.frame_chunks)
        schema = json.dumps(answer_schema(chunks=rollout.chunks, frames=count))
        grammar = self._compiler.compile_json_schema(schema, any_whitespace=False)
        try:
            with self._vlm.lock:
                inputs = encode(self._vlm, messages, pictures)
                text = generate_text(self._vlm, inputs, grammar, self._max_tokens)
        except RuntimeError as error:
            raise PlannerUnavailableError(f'model {self.name}: {first_line(error)}') from None
        return read_answer(text, chunks=rollout.chunks, frames=count)

    def close(self) -> None:
        """Keep the model: whoever loaded it frees it."""
