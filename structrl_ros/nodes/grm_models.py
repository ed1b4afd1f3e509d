"""The progress model and goal of grm_node, from its parameters or from what a recording tells."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.errors import ParameterError
from structrl_ros.params.grm import GrmParameters
from structrl_ros.progress.online import OnlineModel
from structrl_ros.recording.progress_told import RanWith
from structrl_ros.recording.references import last_pictures
from structrl_ros.recording.references import read_picture
from structrl_ros.types import UInt8


@dataclass(frozen=True, slots=True)
class OpenModel:
    """A model that is ready to be asked, and what a recording tells of it."""

    online: OnlineModel
    ran_with: RanWith


ModelOpener = Callable[[GrmParameters], OpenModel]


def open_model(parameters: GrmParameters) -> OpenModel:
    """Load the model and the goal that the parameters name; torch gets their threads.

    Raises:
        CheckpointError: If the model is missing, cut or of another architecture.
        ParameterError: If the goal is missing or no picture.
        BagError: If the goal's bag is damaged.
    """
    import torch

    from structrl_ros.models.grm.sizes import load_any_grm

    torch.set_num_threads(parameters.threads)
    goal = goal_pictures(parameters.goal, parameters.roles)
    model = load_any_grm(parameters.model, device=parameters.device)
    online = OnlineModel(
        make=model.about,
        layout=model.layout,
        view_px=model.view_px,
        goal=goal,
        gamma=parameters.gamma,
    )
    parts = [path.read_bytes() for path in model.files]
    pixels = [goal[role].tobytes() for role in sorted(goal)] if goal else []
    ran_with = RanWith(
        model=parameters.model,
        model_digest=_digest(parts),
        goal=parameters.goal,
        goal_digest=_digest(pixels) if pixels else '',
        roles=parameters.roles,
        gamma=parameters.gamma,
        threads=parameters.threads,
        device=parameters.device,
    )
    return OpenModel(online, ran_with)


def open_again(ran_with: RanWith) -> OnlineModel:
    """Return the model that a recording tells of.

    Raises:
        StructRLError: If it cannot be had any more.
        ParameterError: If there is another one in its place.
    """
    found = open_model(
        GrmParameters(
            model=ran_with.model,
            goal=ran_with.goal,
            roles=ran_with.roles,
            gamma=ran_with.gamma,
            threads=ran_with.threads,
            device=ran_with.device,
        )
    )
    if found.ran_with.model_digest != ran_with.model_digest:
        raise ParameterError(f'progress model {ran_with.model!r} is another than the one that ran')
    if found.ran_with.goal_digest != ran_with.goal_digest:
        raise ParameterError(f'goal {ran_with.goal!r} is another than the one that was used')
    return found.online


def goal_pictures(goal: str, roles: tuple[str, ...]) -> Mapping[str, UInt8] | None:
    """Return the goal's image of each role that it is known of; None without a goal.

    Args:
        goal: A picture, which is of the first role; a bag or the directory of a run, whose last
            pictures are taken; or '' for none.
        roles: Cameras.

    Raises:
        ParameterError: If it is missing, no picture, or the bag holds none of the roles.
        BagError: If a bag is damaged.
    """
    if not goal:
        return None
    path = Path(goal).expanduser()
    if path.is_dir():
        return last_pictures(path / 'bag' if (path / 'bag').is_dir() else path, roles)
    try:
        return {roles[0]: read_picture(path)}
    except ParameterError as error:
        raise ParameterError(f'goal: {error}') from None


def _digest(parts: list[bytes]) -> str:
    return hashlib.sha256(b''.join(parts)).hexdigest()[:16]
