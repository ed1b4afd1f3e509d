"""Questions of LEAP rows as tensors, and the answers of a model to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from structrl_ros.training.leap_rows import LeapRow
from structrl_ros.training.planner_questions import conversation_text
from structrl_ros.training.planner_questions import pictures
from structrl_ros.training.planner_questions import question
from structrl_ros.training.planner_questions import true_answer

#: Label of a token that is not learned.
_IGNORED = -100


def encode_questions(processor: Any, rows: Sequence[LeapRow], prompt: str) -> Any:
    """Return the inputs of a model for some questions, padded on the left.

    Args:
        processor: Of text and images.
        rows: With as many images each as they have.
        prompt: In whose form they are asked.
    """
    return processor(
        text=[conversation_text(processor, question(row, prompt)) for row in rows],
        images=[pictures(row) for row in rows],
        padding=True,
        padding_side='left',
        return_tensors='pt',
    )


class AnswerCollator:
    """Numbers of rows to a batch of questions with their true answers, for imitation.

    The question is padded on the left and the answer on the right, as answers are generated, and
    only the answer with its end has labels.
    """

    def __init__(self, processor: Any, rows: Sequence[LeapRow], prompt: str) -> None:
        """Tokenise the answers."""
        self._processor, self._rows, self._prompt = processor, rows, prompt
        tokenizer = processor.tokenizer
        self._pad = int(tokenizer.pad_token_id)
        self._answers = [
            [*tokenizer.encode(true_answer(row, prompt), add_special_tokens=False), end]
            for row, end in zip(rows, [tokenizer.eos_token_id] * len(rows), strict=True)
        ]

    def __call__(self, numbers: Sequence[int]) -> dict[str, Tensor]:
        """Return the batch."""
        chosen = [self._rows[number] for number in numbers]
        batch = dict(encode_questions(self._processor, chosen, self._prompt))
        return with_answers(batch, [self._answers[number] for number in numbers], self._pad)


def with_answers(
    batch: dict[str, Tensor], answers: Sequence[Sequence[int]], pad: int
) -> dict[str, Tensor]:
    """Return questions, padded on the left, with answers behind them that alone have labels.

    Args:
        batch: Inputs of the questions.
        answers: Tokens of each answer, its end included.
        pad: Token that fills up shorter ones.
    """
    length = max(map(len, answers))
    ids = torch.tensor([[*a, *[pad] * (length - len(a))] for a in answers])
    mask = torch.tensor([[1] * len(a) + [0] * (length - len(a)) for a in answers])
    labels = torch.where(mask.bool(), ids, _IGNORED)
    asked = batch['input_ids']
    whole = {
        **batch,
        'labels': torch.cat([torch.full_like(asked, _IGNORED), labels], dim=1),
        'input_ids': torch.cat([asked, ids], dim=1),
        'attention_mask': torch.cat([batch['attention_mask'], mask], dim=1),
    }
    if 'mm_token_type_ids' in batch:
        kinds = batch['mm_token_type_ids']
        whole['mm_token_type_ids'] = torch.cat([kinds, torch.zeros_like(ids)], dim=1)
    return whole


def write_answers(
    model: Any,
    processor: Any,
    rows: Sequence[LeapRow],
    prompt: str,
    *,
    max_tokens: int,
    batch: int,
    temperature: float = 0.0,
    seed: int = 0,
) -> list[str]:
    """Return what a model answers, free of any grammar; it is left as it was, as is torch's luck.

    Args:
        model: On any device.
        processor: Of text and images.
        rows: The questions.
        prompt: In whose form they are asked.
        max_tokens: Longest answer.
        batch: Questions at a time.
        temperature: Of the draw; 0: the likeliest token each time.
        seed: Of the draw.
    """
    was_training = model.training
    model.eval()
    drawn = {'do_sample': True, 'temperature': temperature} if temperature else {}
    greedy = {'do_sample': False, 'temperature': None}
    texts: list[str] = []
    devices = [model.device] if model.device.type == 'cuda' else []
    with torch.random.fork_rng(devices=devices), torch.no_grad():
        torch.manual_seed(seed)
        for first in range(0, len(rows), batch):
            inputs = encode_questions(processor, rows[first : first + batch], prompt)
            tokens = model.generate(
                **inputs.to(model.device),
                max_new_tokens=max_tokens,
                top_p=None,
                top_k=None,
                pad_token_id=processor.tokenizer.pad_token_id,
                eos_token_id=processor.tokenizer.eos_token_id,
                **(drawn or greedy),
            )
            new = tokens[:, inputs['input_ids'].shape[1] :]
            texts += processor.tokenizer.batch_decode(new, skip_special_tokens=True)
    model.train(was_training)
    return texts
