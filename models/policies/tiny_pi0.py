"""A pi0 of random weights and 0.1 M parameters, to run the real path without a download."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

_SENTENCES = (
    'open the drawer and put the bowl in it',
    'pick up the mug, then close the lid',
    'press the red button and insert the peg',
)


def save_tiny_pi0(folder: Path | str, *, chunk_size: int = 8, seed: int = 0) -> None:
    """Write model and tokenizer with `save_pretrained`; needs transformers and tokenizers."""
    from transformers import PI0Config
    from transformers import PI0ForConditionalGeneration

    tokenizer = _tokenizer()
    text = {
        'model_type': 'gemma',
        'hidden_size': 32,
        'num_hidden_layers': 2,
        'intermediate_size': 64,
        'num_attention_heads': 2,
        'num_key_value_heads': 1,
        'head_dim': 16,
        'vocab_size': len(tokenizer),
    }
    vision = {
        'model_type': 'siglip_vision_model',
        'hidden_size': 32,
        'intermediate_size': 64,
        'num_hidden_layers': 2,
        'num_attention_heads': 2,
        'image_size': 56,
        'patch_size': 14,
        'vision_use_head': False,
    }
    config = PI0Config(
        vlm_config={
            'model_type': 'paligemma',
            'text_config': text,
            'vision_config': vision,
            'projection_dim': 32,
            'image_token_id': tokenizer.convert_tokens_to_ids('<image>'),
        },
        dit_config={**text, 'intermediate_size': 32},
        chunk_size=chunk_size,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = PI0ForConditionalGeneration(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tokenizer() -> Any:
    from tokenizers import Tokenizer
    from tokenizers import decoders
    from tokenizers import models
    from tokenizers import pre_tokenizers
    from tokenizers import trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=['<pad>', '<eos>', '<bos>', '<image>'],
    )
    tokenizer.train_from_iterator(_SENTENCES, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token='<pad>', eos_token='<eos>', bos_token='<bos>'
    )
