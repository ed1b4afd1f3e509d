"""Queries as the tensors of a vision-language model, padded on the left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from structrl_ros.errors import ParameterError
from structrl_ros.models.grm.vlm_config import VlmGrmConfig
from structrl_ros.models.vlm.encoding import IMAGE_PART
from structrl_ros.models.vlm.loading import first_line
from structrl_ros.progress.answers import check_query
from structrl_ros.progress.context import Query
from structrl_ros.progress.prompt import Prompt
from structrl_ros.progress.prompt import make_prompt

#: Label of tokens that are not learned.
IGNORED = -100


@dataclass(frozen=True, slots=True)
class VlmInput:
    """B queries.

    Attributes:
        tensors: What the model takes, by name; `input_ids` and `attention_mask` are (B, T), their
            last column is the last token of each query.
        labels: Tokens of the answer, IGNORED elsewhere, shape (B, T); None without answers.
    """

    tensors: dict[str, Tensor]
    labels: Tensor | None

    def to(self, device: torch.device | str) -> VlmInput:
        """Return the input on another device."""
        moved = {name: tensor.to(device) for name, tensor in self.tensors.items()}
        return VlmInput(moved, None if self.labels is None else self.labels.to(device))


def make_vlm_input(
    config: VlmGrmConfig,
    processor: Any,
    queries: Sequence[Query],
    instructions: Sequence[str],
    answers: Sequence[str] | None = None,
) -> VlmInput:
    """Return the tensors of queries.

    Args:
        config: Of the model.
        processor: Of the base.
        queries: Any number from 1.
        instructions: Sentence of each.
        answers: What the model shall say to each; its end of turn is appended.

    Raises:
        ParameterError: If there is no query, or views or panels are not of the model's layout.
    """
    if not queries or len(instructions) != len(queries):
        raise ParameterError(
            f'{len(queries)} queries, {len(instructions)} instructions; allowed: from 1, as many'
        )
    for query in queries:
        check_query(query, config.layout, config.view_px)
    rows = [
        _row(processor, make_prompt(instruction, query))
        for query, instruction in zip(queries, instructions, strict=True)
    ]
    said: list[Tensor] = [torch.zeros(0, dtype=torch.long)] * len(rows)
    if answers is not None:
        said = [_answer(processor, text) for text in answers]
    return _padded(processor, rows, said, has_labels=answers is not None)


def _row(processor: Any, prompt: Prompt) -> dict[str, Tensor]:
    """Return the tensors of one prompt, images first, as its text counts them."""
    from PIL import Image

    content = [*[IMAGE_PART] * len(prompt.images), {'type': 'text', 'text': prompt.text}]
    messages = [{'role': 'user', 'content': content}]
    text = processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    pictures = [Image.fromarray(image) for image in prompt.images]
    try:
        return dict(processor(text=[text], images=pictures, return_tensors='pt'))
    except ValueError as error:
        raise ParameterError(f'images do not fit the base model: {first_line(error)}') from None


def _answer(processor: Any, text: str) -> Tensor:
    tokenizer = processor.tokenizer
    ids = tokenizer(text, add_special_tokens=False)['input_ids']
    return torch.tensor([*ids, tokenizer.eos_token_id], dtype=torch.long)


def _padded(
    processor: Any, rows: Sequence[dict[str, Tensor]], said: Sequence[Tensor], *, has_labels: bool
) -> VlmInput:
    lengths = [
        row['input_ids'].shape[1] + len(tokens) for row, tokens in zip(rows, said, strict=True)
    ]
    shape = (len(rows), max(lengths))
    ids = torch.full(shape, int(processor.tokenizer.pad_token_id), dtype=torch.long)
    mask = torch.zeros(shape, dtype=torch.long)
    kinds = torch.zeros(shape, dtype=torch.long)
    labels = torch.full(shape, IGNORED, dtype=torch.long)
    for n, (row, tokens) in enumerate(zip(rows, said, strict=True)):
        start, end = shape[1] - lengths[n], shape[1] - len(tokens)
        ids[n, start:end] = row['input_ids'][0]
        ids[n, end:] = labels[n, end:] = tokens
        mask[n, start:] = 1
        if 'mm_token_type_ids' in row:
            kinds[n, start:end] = row['mm_token_type_ids'][0]
    tensors = {'input_ids': ids, 'attention_mask': mask}
    if 'mm_token_type_ids' in rows[0]:
        tensors['mm_token_type_ids'] = kinds
    for name in rows[0]:
        if name not in ('input_ids', 'attention_mask', 'mm_token_type_ids'):
            tensors[name] = torch.cat([row[name] for row in rows])
    return VlmInput(tensors, labels if has_labels else None)
