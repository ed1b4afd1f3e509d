"""Planner and monitor on any OpenAI-compatible server.

Needs `httpx` and `pillow`, and a server with a vision-language model. What is asked stands in
`questions`. A connection belongs to one backend, so that planner and monitor never wait for one
another here; whether the server answers both at once is its own matter.
"""

from __future__ import annotations

from collections.abc import Sequence

from structrl_ros.errors import ParameterError
from structrl_ros.models.vlm.chat_client import ChatClient
from structrl_ros.models.vlm.chat_client import ChatSettings
from structrl_ros.models.vlm.judging import judgement_of_tokens
from structrl_ros.models.vlm.judging import read_judgement
from structrl_ros.models.vlm.pictures import check_format
from structrl_ros.models.vlm.pictures import image_part
from structrl_ros.models.vlm.questions import PLAN_FORMS
from structrl_ros.models.vlm.questions import VERDICT_SCHEMA
from structrl_ros.models.vlm.questions import images_of
from structrl_ros.models.vlm.questions import plan_messages
from structrl_ros.models.vlm.questions import plan_schema
from structrl_ros.models.vlm.questions import read_prompt
from structrl_ros.models.vlm.questions import verify_messages
from structrl_ros.models.vlm.questions import with_reasoning
from structrl_ros.types import JsonObject
from structrl_ros.types import Judgement
from structrl_ros.types import Observation
from structrl_ros.types import PlanRequest
from structrl_ros.types import Subtask


class OpenAIPlanner:
    """REVER's planner on a server; port Planner.

    Args:
        settings: Where and how to ask.
        roles: Cameras whose images go with the question; () plans from the words alone.
        prompt: Name of the prompt; PLAN_FORMS tells the form of its answer.
        image_format: 'jpeg' or 'png'.
        replan: Name of what is added to the question after a failed attempt.
    """

    def __init__(
        self,
        settings: ChatSettings,
        roles: Sequence[str] = ('head',),
        prompt: str = 'plan_v1',
        image_format: str = 'jpeg',
        replan: str = 'replan_v1',
    ) -> None:
        """Read the prompts; nothing is sent yet."""
        check_format(image_format)
        self.name = f'openai:{settings.model}'
        self.roles = tuple(roles)
        self._prompt, self._replan = read_prompt(prompt), read_prompt(replan)
        self._schema = plan_schema() if PLAN_FORMS.get(prompt, 'json') == 'json' else None
        self._format = image_format
        self._client = ChatClient(settings)

    def propose(self, request: PlanRequest) -> str:
        """Return the model's plan as text, its reasoning in a think block.

        Raises:
            PlannerUnavailableError: If the server gave no answer.
            StaleDataError: If an image that shall go with the question is missing.
            MessageError: If an image is none.
        """
        pictures = _pictures(request.observation, self.roles, self._format)
        messages = plan_messages(request, self._prompt, self._replan, pictures)
        return with_reasoning(self._client.complete(messages, self._schema, 'plan'))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class OpenAIMonitor:
    """REVER's Verify on a server; port Monitor. Arguments as for `OpenAIPlanner`.

    Prompt `verify_v1` asks for an object with the model's own confidence; `verify_word_v1` for one
    word, of which one token is generated and the confidence is its probability: less to wait for,
    and a confidence that is measured. It needs a server that gives `logprobs`.
    """

    def __init__(
        self,
        settings: ChatSettings,
        roles: Sequence[str] = ('head',),
        prompt: str = 'verify_v1',
        image_format: str = 'jpeg',
        threshold: float = 0.5,
    ) -> None:
        """Read the prompt; nothing is sent yet.

        Args:
            settings: Where and how to ask.
            roles: Cameras whose images are compared.
            prompt: 'verify_v1' or 'verify_word_v1'.
            image_format: 'jpeg' or 'png'.
            threshold: Probability of True from which a step is done, for `verify_word_v1`.
        """
        if not roles:
            raise ParameterError('a monitor without cameras sees nothing; allowed: 1 role or more')
        check_format(image_format)
        self.name = f'openai:{settings.model}'
        self.roles = tuple(roles)
        self._prompt = read_prompt(prompt)
        self._is_word, self._threshold = prompt.startswith('verify_word'), threshold
        self._format = image_format
        self._client = ChatClient(settings)

    def verify(self, subtask: Subtask, start: Observation, now: Observation) -> Judgement:
        """Return the model's judgement of two moments.

        Raises:
            PlannerUnavailableError: If the server gave no answer, or none that is a judgement.
            StaleDataError: If an image is missing.
            MessageError: If an image is none.
        """
        before, after = (_pictures(o, self.roles, self._format) for o in (start, now))
        messages = verify_messages(subtask, self._prompt, before, after)
        if self._is_word:
            tokens = self._client.first_tokens(messages)
            return judgement_of_tokens(tokens, self._threshold, self.name)
        return read_judgement(self._client.complete(messages, VERDICT_SCHEMA, 'judgement'))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def _pictures(
    observation: Observation | None, roles: Sequence[str], image_format: str
) -> list[JsonObject]:
    """Return the images of the roles as parts of a message, in order."""
    return [image_part(image, image_format) for image in images_of(observation, roles)]
