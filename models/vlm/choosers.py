"""Which of four plans is right: the question of a LEAP set, on a server or in this process.

Needs what the planners of the same name need.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.models.vlm.chat_client import ChatClient
from structrl_ros.models.vlm.chat_client import ChatSettings
from structrl_ros.models.vlm.pictures import image_part
from structrl_ros.models.vlm.questions import images_of
from structrl_ros.models.vlm.questions import read_prompt
from structrl_ros.models.vlm.questions import text_part
from structrl_ros.types import JsonObject
from structrl_ros.types import Observation

if TYPE_CHECKING:
    from structrl_ros.models.vlm.loading import LoadedVlm

LETTERS = ('A', 'B', 'C', 'D')

CHOICE_SCHEMA: JsonObject = {
    'type': 'object',
    'properties': {'answer': {'type': 'string', 'enum': list(LETTERS)}},
    'required': ['answer'],
    'additionalProperties': False,
}


def choice_messages(
    prompt: str,
    instruction: str,
    objects: Sequence[str],
    options: Sequence[Sequence[str]],
    pictures: Sequence[JsonObject],
) -> list[JsonObject]:
    """Return the conversation that asks for a letter.

    Args:
        prompt: Text of the system's message.
        instruction: What shall be done.
        objects: What is in the scene.
        options: Four plans, of each the phrases.
        pictures: Parts of the message with the images, in the form of the backend.
    """
    lines = [f'Instruction: {instruction}', f'In the scene: {", ".join(objects)}', 'Plans:']
    lines += [f'{a}. {"; ".join(steps)}' for a, steps in zip(LETTERS, options, strict=True)]
    return [
        {'role': 'system', 'content': prompt},
        {'role': 'user', 'content': [text_part('\n'.join(lines)), *pictures]},
    ]


class OpenAIChooser:
    """Chooses on any OpenAI-compatible server; arguments as for `OpenAIPlanner`."""

    def __init__(
        self,
        settings: ChatSettings,
        roles: Sequence[str] = ('head',),
        prompt: str = 'choose_v1',
        image_format: str = 'jpeg',
    ) -> None:
        """Read the prompt; nothing is sent yet."""
        self._roles, self._format = tuple(roles), image_format
        self._prompt = read_prompt(prompt)
        self._client = ChatClient(settings)

    def choose(
        self,
        instruction: str,
        objects: Sequence[str],
        options: Sequence[Sequence[str]],
        observation: Observation | None,
    ) -> str:
        """Return the server's answer.

        Raises:
            PlannerUnavailableError: If the server gave none.
            StaleDataError: If an image is missing.
        """
        images = images_of(observation, self._roles)
        pictures = [image_part(image, self._format) for image in images]
        messages = choice_messages(self._prompt, instruction, objects, options, pictures)
        return self._client.complete(messages, CHOICE_SCHEMA, 'choice')

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class LocalChooser:
    """Chooses by the likeliest of the four letters as the first token of the answer."""

    def __init__(
        self, vlm: LoadedVlm, roles: Sequence[str] = ('head',), prompt: str = 'choose_letter_v1'
    ) -> None:
        """Find the tokens.

        Raises:
            CheckpointError: If the tokenizer cannot tell the letters by one token.
        """
        self._vlm, self._roles = vlm, tuple(roles)
        self._prompt = read_prompt(prompt)
        self._tokens = [vlm.tokenizer.encode(a, add_special_tokens=False)[0] for a in LETTERS]
        if len(set(self._tokens)) < len(LETTERS):
            raise CheckpointError(f'tokenizer of {vlm.name}: two letters begin with one token')

    def choose(
        self,
        instruction: str,
        objects: Sequence[str],
        options: Sequence[Sequence[str]],
        observation: Observation | None,
    ) -> str:
        """Return a letter.

        Raises:
            PlannerUnavailableError: If the model fails, or gives NaN.
            StaleDataError: If an image is missing.
        """
        import torch

        from structrl_ros.models.vlm.encoding import IMAGE_PART
        from structrl_ros.models.vlm.encoding import encode
        from structrl_ros.models.vlm.loading import first_line

        images = images_of(observation, self._roles)
        parts = [IMAGE_PART] * len(images)
        messages = choice_messages(self._prompt, instruction, objects, options, parts)
        try:
            with self._vlm.lock, torch.inference_mode():
                logits = self._vlm.model(**encode(self._vlm, messages, images)).logits[0, -1]
                scores = [float(logits[token]) for token in self._tokens]
        except RuntimeError as error:
            raise PlannerUnavailableError(f'model {self._vlm.name}: {first_line(error)}') from None
        if not all(map(math.isfinite, scores)):
            raise PlannerUnavailableError(f'model {self._vlm.name}: its logits are not finite')
        return LETTERS[scores.index(max(scores))]
