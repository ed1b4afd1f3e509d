"""The last logits of one question after another, computing only what differs from the last one.

Through a step of a plan the questions of a 5 Hz monitor differ in their last images alone, so keys
and values of everything before are kept, and the vision tower runs on new images alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structrl_ros.models.vlm.encoding import image_digests
from structrl_ros.types import UInt8


class PrefixCache:
    """Keys and values of the last question; one user at a time.

    Reuses on models with Qwen's multimodal positions (`get_rope_index`); any other model, and one
    whose attention slides, computes every question from its start.

    Attributes:
        reused: Tokens of the last question that were known from the one before.
        computed: Tokens of the last question that were computed.
    """

    def __init__(self, model: Any, *, enabled: bool = True) -> None:
        """Begin empty."""
        self._model = model
        core = model.get_base_model() if hasattr(model, 'peft_config') else model
        self._core: Any = getattr(core, 'model', None)
        config = None if self._core is None else self._core.config.get_text_config()
        slides = 'sliding_attention' in (getattr(config, 'layer_types', None) or ())
        self._can_reuse = enabled and hasattr(self._core, 'get_rope_index') and not slides
        self.reused = self.computed = 0
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._known: Any = None
        self._cache: Any = None

    def last_logits(self, inputs: Any, images: Sequence[UInt8]) -> Any:
        """Return the logits of the token that follows, a tensor (V,) in float32.

        Args:
            inputs: Of `encode`, one conversation.
            images: Its images, by which equal image tokens are told from others.
        """
        import torch

        with torch.inference_mode():
            if not self._can_reuse or 'image_grid_thw' not in inputs:
                self.reused, self.computed = 0, int(inputs['input_ids'].shape[1])
                return self._model(**inputs, logits_to_keep=1).logits[0, -1].float()
            try:
                return self._continued(inputs, images)
            except BaseException:
                self.clear()  # it may hold half of a question
                raise

    def _continued(self, inputs: Any, images: Sequence[UInt8]) -> Any:
        """Drop what differs from the last question, and compute from there."""
        from transformers import DynamicCache

        ids, grids = inputs['input_ids'], inputs['image_grid_thw']
        merged = self._core.visual.spatial_merge_size**2
        sizes = (grids.prod(-1) // merged).tolist()
        content = _content(ids[0], inputs['mm_token_type_ids'][0], sizes, image_digests(images))
        kept = self._common(content)
        if self._cache is None or kept == 0:
            self._cache, kept = DynamicCache(config=self._core.config.get_text_config()), 0
        else:
            self._cache.crop(kept - len(self._known))
        positions, _ = self._core.get_rope_index(
            ids, mm_token_type_ids=inputs['mm_token_type_ids'], image_grid_thw=grids
        )
        new = _images_from(content, sizes, kept)
        rows = int(grids[: len(sizes) - new].prod(-1).sum())
        pictures = {}
        if new:
            pictures['pixel_values'] = inputs['pixel_values'][rows:]
            pictures['image_grid_thw'] = grids[len(sizes) - new :]
        self._known = None  # until the call has ended well
        result = self._model(
            input_ids=ids[:, kept:],
            position_ids=positions[:, :, kept:],
            cache=self._cache,
            use_cache=True,
            logits_to_keep=1,
            **pictures,
        )
        self._known, self._cache = content, result.cache
        self.reused, self.computed = kept, ids.shape[1] - kept
        return result.logits[0, -1].float()

    def _common(self, content: Any) -> int:
        """Return how many tokens at the start are those of the last question; one is left."""
        if self._known is None:
            return 0
        length = min(len(self._known), len(content) - 1)
        differ = (self._known[:length] != content[:length]).nonzero()
        return int(differ[0]) if len(differ) else length


def _content(ids: Any, types: Any, sizes: Sequence[int], digests: Sequence[int]) -> Any:
    """Return the tokens, with the digest of its image in place of each token of an image."""
    import torch

    content = ids.clone().cpu()
    repeated = torch.repeat_interleave(torch.tensor(digests), torch.tensor(sizes))
    content[types.cpu() == 1] = repeated
    return content


def _images_from(content: Any, sizes: Sequence[int], start: int) -> int:
    """Return how many images lie at or after a token; an image is never cut."""
    tokens = int((content[start:] < 0).sum())
    count = 0
    for size in reversed(sizes):
        if tokens <= 0:
            break
        tokens -= size
        count += 1
    return count
