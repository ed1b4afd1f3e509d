"""The GRM on a vision-language model: adapters of peft, and a head or words (Robo-Dopamine 2.0).

The base's weights never change. The paper's model answers in words; the head on the last hidden
state is ours, and the default: one pass a query, and no answer that cannot be read.
"""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import torch
from torch import Tensor
from torch import nn
from torch.nn.functional import cross_entropy

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.grm.vlm_config import VlmGrmConfig
from structrl_ros.models.grm.vlm_inputs import IGNORED
from structrl_ros.models.grm.vlm_inputs import VlmInput
from structrl_ros.models.vlm.loading import VlmSettings
from structrl_ros.models.vlm.loading import load_vlm
from structrl_ros.progress.hop import LABEL_SCALE

#: Longest answer in words, tokens.
_ANSWER_TOKENS = 24
#: Values of each tensor of the base that its fingerprint reads.
_READ_VALUES = 8


class VlmGrmNetwork(nn.Module):
    """f_theta of Eq. 1 on a vision-language model.

    Attributes:
        config: What it is.
        processor: Of text and images, of the base.
        fingerprint: Of the base's weights, 64 hex digits.
    """

    def __init__(self, config: VlmGrmConfig, *, device: str = 'auto', dtype: str = 'auto') -> None:
        """Load the base, and put fresh adapters on it, which change no answer yet.

        Args:
            config: What it is.
            device: 'auto', 'cpu', 'cuda' or 'mps'.
            dtype: Of the base: 'auto', 'float32', 'bfloat16' or 'float16'; adapters and head are
                float32.

        Raises:
            ParameterError: If no module has a name of `lora_targets`, or a package is missing.
            CheckpointError: If the base cannot be had.
        """
        super().__init__()
        loaded = load_vlm(
            VlmSettings(
                model=config.base,
                device=device,
                dtype=dtype,
                image_pixels=config.image_pixels,
            )
        )
        self.config, self.processor = config, loaded.processor
        self.fingerprint = fingerprint_of(loaded.model)
        self.adapted = _adapted(loaded.model, config)
        width = loaded.model.config.get_text_config().hidden_size
        self.head = nn.Linear(width, 1).to(self.device)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)
        if config.answer == 'text':
            self.head.requires_grad_(False)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        device: torch.device = next(self.adapted.parameters()).device
        return device

    def forward(self, inputs: VlmInput) -> Tensor:
        """Return the estimates of 100 x hop of the head (Eq. 9), shape (B,); not clipped."""
        last = self._hidden(inputs)[:, -1].float()
        answers: Tensor = LABEL_SCALE * self.head(last).squeeze(-1)
        return answers

    def text_loss(self, inputs: VlmInput) -> Tensor:
        """Return the mean cross-entropy of the tokens of the answers.

        Raises:
            ParameterError: If the input has no answers.
        """
        if inputs.labels is None:
            raise ParameterError('input without answers; allowed: one that was made with them')
        is_learned = inputs.labels[:, 1:] != IGNORED
        hidden = self._hidden(inputs)[:, :-1][is_learned]
        logits = self._core.get_output_embeddings()(hidden)
        return cross_entropy(logits.float(), inputs.labels[:, 1:][is_learned])

    def write(self, inputs: VlmInput) -> list[str]:
        """Return what the model says to each query, the likeliest token at each step."""
        tokenizer = self.processor.tokenizer
        with torch.inference_mode():
            ids = self.adapted.generate(
                **inputs.tensors,
                max_new_tokens=_ANSWER_TOKENS,
                do_sample=False,
                pad_token_id=tokenizer.pad_token_id,
                eos_token_id=tokenizer.eos_token_id,
            )
        new = ids[:, inputs.tensors['input_ids'].shape[1] :]
        texts: list[str] = tokenizer.batch_decode(new, skip_special_tokens=True)
        return texts

    def trained_tensors(self) -> dict[str, Tensor]:
        """Return what trains, by name: adapters, and the head where it answers."""
        return {name: p.detach() for name, p in self.named_parameters() if p.requires_grad}

    def fill_trained(self, tensors: dict[str, Tensor]) -> None:
        """Take what `trained_tensors` of another one gave.

        Raises:
            CheckpointError: If it is of another architecture.
        """
        own = self.trained_tensors()
        wanted = {name: tuple(tensor.shape) for name, tensor in own.items()}
        got = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        if wanted != got:
            name = next(n for n in sorted({*wanted, *got}) if wanted.get(n) != got.get(n))
            raise CheckpointError(
                f'{name!r} has shape {got.get(name)}; allowed: {wanted.get(name)}: adapters of '
                'another architecture'
            )
        for name, tensor in own.items():
            tensor.copy_(tensors[name])

    def save_memory(self) -> None:
        """Keep no activations for the gradient but compute them anew: slower, in less memory."""
        self._core.activation_checkpointing_enable({'use_reentrant': False})

    @property
    def _core(self) -> Any:
        """The base with adapters inside its modules."""
        return self.adapted.get_base_model()

    def _hidden(self, inputs: VlmInput) -> Tensor:
        """Return the last hidden states, shape (B, T, H)."""
        states: Tensor = self._core.model(**inputs.tensors, use_cache=False).last_hidden_state
        return states


def fingerprint_of(model: Any) -> str:
    """Return a hash of names, shapes and some values of a model, the same for every dtype."""
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        digest.update(f'{name} {tuple(parameter.shape)}'.encode())
        values = parameter.detach().flatten()[:_READ_VALUES].cpu().to(torch.bfloat16)
        digest.update(values.view(torch.int16).numpy().tobytes())
    return digest.hexdigest()


def _adapted(model: Any, config: VlmGrmConfig) -> Any:
    try:
        from peft import LoraConfig
        from peft import get_peft_model
    except ImportError:
        raise ParameterError('adapters need peft; install it with: pip install peft') from None
    lora = LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,
        lora_dropout=0.0,
        target_modules=list(config.lora_targets),
    )
    try:
        with warnings.catch_warnings():  # peft reads a name that transformers 5 gave up
            warnings.filterwarnings('ignore', 'is_gradient_checkpointing', FutureWarning)
            warnings.filterwarnings('ignore', '.is_gradient_checkpointing', FutureWarning)
            return get_peft_model(model, lora)
    except ValueError as error:
        reason = ' '.join(str(error).split())[:200]
        raise ParameterError(f'lora_targets {list(config.lora_targets)}: {reason}') from None
