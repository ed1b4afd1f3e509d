"""A Qwen2.5-VL or Qwen3-VL of random weights, 0.2 to 0.3 M parameters or some more.

It goes through the same loading, processing and decoding as the model of a user, without a
download. Needs `torch`, `transformers` and `tokenizers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from structrl_ros.errors import ParameterError

FAMILIES = ('qwen2_5_vl', 'qwen3_vl')

#: Trains the tokenizer; what a plan is written in should not fall into single bytes.
SENTENCES = (
    'grasp the alphabet soup, place the soup in the basket and close the drawer',
    'open the top drawer of the cabinet, put the black bowl on the plate',
    'turn on the stove, press the red button, pour the tea into the white mug',
    '{"reasoning": "the soup is first", "stages": [["grasp soup"], ["place soup in basket"]]}',
    'True False',
)
_SPECIAL = (
    *('<|endoftext|>', '<|im_start|>', '<|im_end|>', '<|vision_start|>', '<|vision_end|>'),
    *('<|vision_pad|>', '<|image_pad|>', '<|video_pad|>'),
)
_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for p in m['content'] %}"
    "{% if p['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ p['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    '{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}'
)


def save_tiny_vlm(
    folder: Path | str,
    family: str = 'qwen2_5_vl',
    *,
    seed: int = 0,
    sentences: Sequence[str] = SENTENCES,
    max_positions: int = 4096,
    width: int = 64,
    layers: int = 0,
    vocabulary: int = 512,
) -> None:
    """Write model, image processor and tokenizer with `save_pretrained`.

    Args:
        folder: Where to; it is made.
        family: One of FAMILIES.
        seed: Of the weights.
        sentences: What the tokenizer is trained on.
        max_positions: Longest conversation in tokens.
        width: Of the language part, a multiple of 32; it has 4 heads.
        layers: Of the language part; 0: 2, or 3 of Qwen3-VL.
        vocabulary: Most tokens.

    Raises:
        ParameterError: If the family is unknown, or the width is no multiple of 32.
    """
    if family not in FAMILIES:
        raise ParameterError(f'family is {family!r}; allowed: {", ".join(FAMILIES)}')
    if width < 32 or width % 32:
        raise ParameterError(f'width is {width}; allowed: a multiple of 32')
    import torch
    import transformers
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    tokenizer = _tokenizer(sentences, vocabulary)
    is_qwen3 = family == 'qwen3_vl'
    text = _text(tokenizer, max_positions, width, layers or (3 if is_qwen3 else 2))
    config = (_qwen3 if is_qwen3 else _qwen2_5)(tokenizer, text)
    kind = 'Qwen3VL' if is_qwen3 else 'Qwen2_5_VL'
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = getattr(transformers, f'{kind}ForConditionalGeneration')(config)
    Path(folder).mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    Qwen2VLImageProcessorPil(
        patch_size=16 if is_qwen3 else 14,
        merge_size=2,
        temporal_patch_size=2,
        size={'shortest_edge': 56 * 56, 'longest_edge': 448 * 448},
    ).save_pretrained(folder)


def _qwen2_5(tokenizer: Any, text: dict[str, Any]) -> Any:
    from transformers import Qwen2_5_VLConfig

    rope = {
        'rope_type': 'default',
        'rope_theta': 1e6,
        'mrope_section': _sections(text['hidden_size']),
    }
    vision = {
        'depth': 2,
        'hidden_size': 32,
        'intermediate_size': 64,
        'num_heads': 2,
        'out_hidden_size': text['hidden_size'],
        'patch_size': 14,
        'spatial_merge_size': 2,
        'temporal_patch_size': 2,
        'window_size': 112,
        'fullatt_block_indexes': [1],
    }
    text = {**text, 'rope_parameters': rope}
    return Qwen2_5_VLConfig(text_config=text, vision_config=vision, **_tokens(tokenizer))


def _qwen3(tokenizer: Any, text: dict[str, Any]) -> Any:
    from transformers import Qwen3VLConfig

    rope = {
        'rope_type': 'default',
        'rope_theta': 5e6,
        'mrope_section': _sections(text['hidden_size']),
        'mrope_interleaved': True,
    }
    vision = {
        'depth': 3,
        'hidden_size': 32,
        'intermediate_size': 64,
        'num_heads': 2,
        'out_hidden_size': text['hidden_size'],
        'patch_size': 16,
        'spatial_merge_size': 2,
        'temporal_patch_size': 2,
        'num_position_embeddings': 256,
        'deepstack_visual_indexes': [0, 1],
    }
    text = {**text, 'rope_parameters': rope, 'head_dim': text['hidden_size'] // 4}
    return Qwen3VLConfig(text_config=text, vision_config=vision, **_tokens(tokenizer))


def _sections(width: int) -> list[int]:
    """Return the shares of time, height and width in half a head; there are 4 heads."""
    half = width // 8
    rest = half - half // 4
    return [half // 4, rest // 2, rest - rest // 2]


def _text(tokenizer: Any, max_positions: int, width: int, layers: int) -> dict[str, Any]:
    return {
        'vocab_size': len(tokenizer),
        'hidden_size': width,
        'intermediate_size': 2 * width,
        'num_hidden_layers': layers,
        'num_attention_heads': 4,
        'num_key_value_heads': 2,
        'max_position_embeddings': max_positions,
        'bos_token_id': None,
        'eos_token_id': tokenizer.eos_token_id,
        'pad_token_id': tokenizer.pad_token_id,
    }


def _tokens(tokenizer: Any) -> dict[str, int]:
    names = {
        'image_token_id': '<|image_pad|>',
        'video_token_id': '<|video_pad|>',
        'vision_start_token_id': '<|vision_start|>',
        'vision_end_token_id': '<|vision_end|>',
    }
    return {key: tokenizer.convert_tokens_to_ids(token) for key, token in names.items()}


def _tokenizer(sentences: Sequence[str], vocabulary: int) -> Any:
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
        vocab_size=vocabulary,
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=list(_SPECIAL),
    )
    tokenizer.train_from_iterator(sentences, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token='<|endoftext|>',
        eos_token='<|im_end|>',
        additional_special_tokens=list(_SPECIAL[1:]),
        chat_template=_TEMPLATE,
    )
