"""REVER's planner on a model in this process, decoded into a plan's form by a grammar.

Needs `torch`, `transformers`, `pillow` and `xgrammar`. The reasoning comes first in the answer, so
that the plan is written after it, and is kept.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.models.vlm.constrained import generate_text
from structrl_ros.models.vlm.constrained import grammar_compiler
from structrl_ros.models.vlm.encoding import IMAGE_PART
from structrl_ros.models.vlm.encoding import encode
from structrl_ros.models.vlm.loading import LoadedVlm
from structrl_ros.models.vlm.loading import first_line
from structrl_ros.models.vlm.questions import PLAN_FORMS
from structrl_ros.models.vlm.questions import images_of
from structrl_ros.models.vlm.questions import plan_messages
from structrl_ros.models.vlm.questions import plan_pattern
from structrl_ros.models.vlm.questions import plan_schema
from structrl_ros.models.vlm.questions import read_prompt
from structrl_ros.models.vlm.questions import with_reasoning
from structrl_ros.types import PlanRequest


class LocalPlanner:
    """Port Planner on a local vision-language model, greedy and so repeatable.

    Args:
        vlm: The model, may be shared with a monitor; calls wait for one another.
        roles: Cameras whose images go with the question; () plans from the words alone.
        prompt: Name of the prompt; PLAN_FORMS tells the form of its answer.
        replan: Name of what is added to the question after a failed attempt.
        max_tokens: Longest answer; one that is cut is no valid plan and is asked for again.
        reasoning_characters: Longest reasoning before the plan.
        max_steps: Most stages of a plan.
    """

    def __init__(
        self,
        vlm: LoadedVlm,
        roles: Sequence[str] = ('head',),
        *,
        prompt: str = 'plan_v1',
        replan: str = 'replan_v1',
        max_tokens: int = 1024,
        reasoning_characters: int = 600,
        max_steps: int = 20,
    ) -> None:
        """Prepare the decoder.

        Raises:
            ParameterError: If xgrammar is missing, or a prompt is unknown.
            CheckpointError: If the tokenizer is of a kind that xgrammar does not take.
        """
        self.name = f'local:{vlm.name}'
        self.roles = tuple(roles)
        self.vlm, self._max_tokens = vlm, max_tokens
        self._prompt, self._replan = read_prompt(prompt), read_prompt(replan)
        self._form = PLAN_FORMS.get(prompt, 'json')
        self._reasoning_characters, self._max_steps = reasoning_characters, max_steps
        self._compiler = grammar_compiler(vlm)

    def propose(self, request: PlanRequest) -> str:
        """Return the model's plan as text, its reasoning in a think block.

        Steps are held to the skill grammar with the names of `request.vocabulary`, if there is
        one, so that only their order and choice can be wrong.

        Raises:
            PlannerUnavailableError: If the model fails, as without memory.
            StaleDataError: If an image that shall go with the question is missing.
            MessageError: If an image is none.
        """
        images = images_of(request.observation, self.roles)
        parts = [IMAGE_PART] * len(images)
        messages = plan_messages(request, self._prompt, self._replan, parts)
        grammar = self._grammar(request.vocabulary)
        try:
            with self.vlm.lock:
                return with_reasoning(
                    generate_text(
                        self.vlm,
                        encode(self.vlm, messages, images),
                        grammar,
                        self._max_tokens,
                    )
                )
        except RuntimeError as error:
            raise PlannerUnavailableError(f'model {self.name}: {first_line(error)}') from None

    def close(self) -> None:
        """Keep the model: whoever loaded it frees it."""

    def _grammar(self, vocabulary: Sequence[str] | None) -> Any:
        """Return the grammar of the answer to this planner's prompt."""
        limits = {
            'reasoning_characters': self._reasoning_characters,
            'max_steps': self._max_steps,
        }
        if self._form == 'blocks':
            return self._compiler.compile_regex(plan_pattern(vocabulary, **limits))
        schema = json.dumps(plan_schema(vocabulary, **limits))
        return self._compiler.compile_json_schema(schema, any_whitespace=False)
