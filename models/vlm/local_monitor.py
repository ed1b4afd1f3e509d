"""REVER's Verify on a model in this process: one token, True or False, and its probability.

Needs `torch`, `transformers` and `pillow`.
"""

from __future__ import annotations

from collections.abc import Sequence

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.models.vlm.encoding import IMAGE_PART
from structrl_ros.models.vlm.encoding import encode
from structrl_ros.models.vlm.judging import judgement
from structrl_ros.models.vlm.loading import LoadedVlm
from structrl_ros.models.vlm.loading import first_line
from structrl_ros.models.vlm.prefix import PrefixCache
from structrl_ros.models.vlm.questions import WORDS
from structrl_ros.models.vlm.questions import images_of
from structrl_ros.models.vlm.questions import read_prompt
from structrl_ros.models.vlm.questions import verify_messages
from structrl_ros.types import Judgement
from structrl_ros.types import Observation
from structrl_ros.types import Subtask


class LocalMonitor:
    """Port Monitor on a local vision-language model.

    The answer is held to the first token of 'True' or 'False': nothing is generated, the logits
    after the question are read. The confidence is the probability of the answer among the two.

    Args:
        vlm: The model, may be shared with a planner; calls wait for one another.
        roles: Cameras whose images are compared.
        prompt: Name of the prompt.
        threshold: Probability of True from which a step is done, in (0, 1).
        reuse: Keep what does not change between the calls of a step.

    Attributes:
        prefix: What was reused and computed in the last call.
    """

    def __init__(
        self,
        vlm: LoadedVlm,
        roles: Sequence[str] = ('head',),
        *,
        prompt: str = 'verify_word_v1',
        threshold: float = 0.5,
        reuse: bool = True,
    ) -> None:
        """Find the two tokens.

        Raises:
            ParameterError: If there is no camera, or the threshold or prompt is not allowed.
            CheckpointError: If the tokenizer cannot tell True and False by one token.
        """
        if not roles:
            raise ParameterError('a monitor without cameras sees nothing; allowed: 1 role or more')
        if not 0 < threshold < 1:
            raise ParameterError(f'threshold is {threshold}; allowed: between 0 and 1')
        self.name = f'local:{vlm.name}'
        self.roles = tuple(roles)
        self.prefix = PrefixCache(vlm.model, enabled=reuse)
        self.vlm, self._threshold = vlm, threshold
        self._prompt = read_prompt(prompt)
        self._tokens = [vlm.tokenizer.encode(w, add_special_tokens=False)[0] for w in WORDS]
        if self._tokens[0] == self._tokens[1]:
            raise CheckpointError(
                f'tokenizer of {vlm.name}: {" and ".join(WORDS)} begin with the same token'
            )

    def verify(self, subtask: Subtask, start: Observation, now: Observation) -> Judgement:
        """Return the model's judgement of two moments.

        Raises:
            PlannerUnavailableError: If the model fails, as without memory, or gives NaN.
            StaleDataError: If an image is missing.
            MessageError: If an image is none.
        """
        before, after = (images_of(o, self.roles) for o in (start, now))
        parts = [IMAGE_PART] * len(self.roles)
        messages = verify_messages(subtask, self._prompt, parts, parts)
        images = [*before, *after]
        try:
            with self.vlm.lock:
                inputs = encode(self.vlm, messages, images)
                logits = self.prefix.last_logits(inputs, images)
                is_true, is_false = (float(logits[token]) for token in self._tokens)
        except RuntimeError as error:
            raise PlannerUnavailableError(f'model {self.name}: {first_line(error)}') from None
        return judgement(is_true, is_false, self._threshold, self.name)

    def close(self) -> None:
        """Forget what was kept of the last question."""
        self.prefix.clear()
