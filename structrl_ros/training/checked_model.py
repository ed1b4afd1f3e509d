"""What every document that a person writes for a trainer or an evaluation has in common."""

from __future__ import annotations

from pydantic import BaseModel
from pydantic import ConfigDict


class CheckedModel(BaseModel):
    """Fixed once made; an unknown name, NaN or infinity is an error."""

    model_config = ConfigDict(frozen=True, extra='forbid', allow_inf_nan=False)
