"""Take hold of a handle and lead it along the way that its joint allows."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.experts.motion import CLOSE
from structrl_ros.sim.tabletop.experts.motion import OPEN
from structrl_ros.sim.tabletop.experts.motion import choose
from structrl_ros.sim.tabletop.experts.motion import funnel
from structrl_ros.sim.tabletop.experts.motion import near
from structrl_ros.sim.tabletop.experts.motion import straight
from structrl_ros.sim.tabletop.experts.motion import turn_to
from structrl_ros.sim.tabletop.geometry import handle_position
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.types import Float64
from structrl_ros.world_types import Bool

#: Begin to drag when this near: metres aside and up, radians; go on while this near.
BEGIN_ASIDE = 0.008
BEGIN_UP = 0.008
BEGIN_TURN = 0.10
GO_ON = 0.030
#: Fingers narrower than this hold a handle that is to be gripped.
GRIPPED = 0.6


def drag(view: WorldView, task: Task, fixture: int, ahead: float, moving: Bool) -> Float64:
    """Return the move that takes a handle and leads its joint on, shape (B, 5).

    Args:
        view: Of the lanes.
        task: What is played.
        fixture: Slot of what has the handle.
        ahead: How far ahead of the joint's value the handle is led, radians or metres.
        moving: Whether the joint has left its stop, so that the handle is in hand, (B,).
    """
    thing = task.fixtures[fixture]
    assert thing.handle is not None
    assert thing.joint is not None
    off = view.handles[:, fixture] - view.tcp
    turn = turn_to(view, view.handle_yaws[:, fixture], np.pi)
    here = near(off, turn)
    in_hand = here.within(BEGIN_ASIDE, BEGIN_UP, BEGIN_TURN)
    in_hand |= moving & here.within(GO_ON, GO_ON)
    if thing.handle.grip:
        grip = np.where(in_hand, CLOSE, OPEN)
        is_led = in_hand & (view.opening < GRIPPED)
    else:
        grip = np.full(len(off), OPEN)
        is_led = in_hand
    joint = np.clip(view.joints[:, fixture] + ahead, -thing.joint.limit, 2.0 * thing.joint.limit)
    stands = view.fixtures[:, fixture], view.fixture_yaws[:, fixture]
    onward = handle_position(thing, *stands, joint) - view.tcp
    waiting = straight(off, turn, grip)
    reach = choose(in_hand, waiting, funnel(view, off, turn, grip))
    return choose(is_led, straight(onward, turn, grip), reach)
