"""A copy of a policy that does not train and shares whatever never changes."""

from __future__ import annotations

import copy

from structrl_ros.models.policies.base import ChunkPolicy


def frozen_copy(policy: ChunkPolicy) -> ChunkPolicy:
    """Return a copy, ready to act; parameters that do not train are shared, not copied.

    So a copy of a large model with adapters costs no more than the adapters.
    """
    shared = {id(p): p for p in policy.parameters() if not p.requires_grad}
    return copy.deepcopy(policy, shared).requires_grad_(False).eval()
