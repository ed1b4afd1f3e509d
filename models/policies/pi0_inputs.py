"""What pi0 reads: pictures in SigLIP's range and tokens. Its own processor needs torchvision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from structrl_ros.errors import PolicyError


def pictures(images: torch.Tensor, size: int) -> torch.Tensor:
    """Return pictures (B, 3, size, size) in [-1, 1] of uint8 RGB (B, H, W, 3).

    The longer side becomes `size`, the aspect stays, and black fills both ends of the shorter.
    """
    pixels = images.permute(0, 3, 1, 2).float()
    height, width = pixels.shape[2:]
    if (height, width) != (size, size):
        longer = max(height, width)
        sides = (max(1, height * size // longer), max(1, width * size // longer))
        pixels = functional.interpolate(
            pixels, sides, mode='bilinear', antialias=True, align_corners=False
        ).round()
        down, right = size - sides[0], size - sides[1]
        edges = (right // 2, right - right // 2, down // 2, down - down // 2)
        pixels = functional.pad(pixels, edges)
    return pixels.clamp(0.0, 255.0) / 127.5 - 1.0


def padded(values: torch.Tensor, dimension: int) -> torch.Tensor:
    """Return values with zeros behind them, shape (..., dimension)."""
    return functional.pad(values, (0, dimension - values.shape[-1]))


def prompt_tokens(
    tokenizer: Any,
    instructions: Sequence[str],
    *,
    image_token: int,
    image_tokens: int,
    text_length: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids and mask, both (B, image_tokens + text_length), int64.

    A prompt is: a token for every patch of every picture, begin of sequence, the instruction, a
    line feed; padded behind.

    Raises:
        PolicyError: If an instruction has too many tokens.
    """
    pad = tokenizer.pad_token_id or 0
    rows, masks = [], []
    for instruction in instructions:
        text = tokenizer(f'{instruction.strip()}\n', add_special_tokens=False)['input_ids']
        text = ([] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]) + text
        missing = text_length - len(text)
        if missing < 0:
            raise PolicyError(
                f'instruction {instruction[:40]!r} has {len(text)} tokens; '
                f'allowed: {text_length} (text_length)'
            )
        rows.append([image_token] * image_tokens + text + [pad] * missing)
        masks.append([1] * (image_tokens + len(text)) + [0] * missing)
    return torch.tensor(rows), torch.tensor(masks)
