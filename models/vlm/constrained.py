"""Greedy text of a local model, held to a grammar by xgrammar. Needs `xgrammar`."""

from __future__ import annotations

from typing import Any

from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.models.vlm.loading import LoadedVlm
from structrl_ros.models.vlm.loading import first_line


def grammar_compiler(vlm: LoadedVlm) -> Any:
    """Return what compiles grammars for a model's tokenizer.

    Raises:
        ParameterError: If xgrammar is missing.
        CheckpointError: If the tokenizer is of a kind that xgrammar does not take.
    """
    try:
        import xgrammar
    except ImportError:
        raise ParameterError(
            'a local model that is held to a form needs xgrammar; install it with: '
            'pip install --no-deps -r requirements/learning-no-deps.txt'
        ) from None
    size = vlm.model.config.get_text_config().vocab_size
    try:
        told = xgrammar.TokenizerInfo.from_huggingface(vlm.tokenizer, vocab_size=size)
    except (ValueError, RuntimeError) as error:
        raise CheckpointError(f'tokenizer of {vlm.name}: {first_line(error)}') from None
    return xgrammar.GrammarCompiler(told)


def generate_text(vlm: LoadedVlm, inputs: Any, grammar: Any, max_tokens: int) -> str:
    """Return the greedy answer within a grammar; whoever calls holds the model's lock."""
    import torch
    from xgrammar.contrib.hf import LogitsProcessor

    with torch.inference_mode():
        tokens = vlm.model.generate(
            **inputs,
            max_new_tokens=max_tokens,
            do_sample=False,
            temperature=None,
            top_p=None,
            top_k=None,
            logits_processor=[LogitsProcessor(grammar)],
        )
    new = tokens[0, inputs['input_ids'].shape[1] :]
    return str(vlm.tokenizer.decode(new, skip_special_tokens=True))
