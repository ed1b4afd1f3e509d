"""Put a block with a hole onto a peg: aligned above it, then down."""

from __future__ import annotations

import numpy as np

from structrl_ros.sim.tabletop.experts.motion import CLOSE
from structrl_ros.sim.tabletop.experts.motion import OPEN
from structrl_ros.sim.tabletop.experts.motion import choose
from structrl_ros.sim.tabletop.experts.motion import funnel
from structrl_ros.sim.tabletop.experts.motion import near
from structrl_ros.sim.tabletop.experts.motion import straight
from structrl_ros.sim.tabletop.experts.pick_and_place import pick
from structrl_ros.sim.tabletop.geometry import wrap
from structrl_ros.sim.tabletop.task_data import Task
from structrl_ros.sim.tabletop.view import WorldView
from structrl_ros.types import Float64

#: Go down only when this well aligned: metres aside, radians.
ALIGNED_ASIDE = 0.0025
ALIGNED_TURN = 0.04
#: Height of the block's underside above the peg's top while it is aligned.
ABOVE = 0.012
#: Let go when the block is this near to where it rests.
SEATED = 0.006


def insert(view: WorldView, task: Task, slot: int, fixture: int) -> Float64:
    """Return the move that puts an object onto a peg, shape (B, 5)."""
    thing, peg = task.objects[slot], task.fixtures[fixture]
    off = view.places[:, fixture] - view.objects[:, slot]
    off[:, 2] += thing.half_height
    quarter = np.pi / 2.0
    turn = wrap(view.fixture_yaws[:, fixture] - view.object_yaws[:, slot], quarter)
    here = near(off, turn)
    on_peg = (here.up > -peg.size[2]) & (here.aside < 2.0 * ALIGNED_ASIDE)
    is_aligned = here.within(ALIGNED_ASIDE, np.inf, ALIGNED_TURN) | on_peg
    keep_above = np.where(is_aligned, 0.0, peg.size[2] + ABOVE)
    is_seated = here.within(2.0 * ALIGNED_ASIDE, SEATED)
    grip = np.where(is_seated, OPEN, CLOSE)
    bring = funnel(view, off, turn, grip, keep_above=keep_above)
    bring = choose(is_seated, straight(0.0 * off, 0.0 * turn, grip), bring)
    return choose(view.held[:, slot], bring, pick(view, task, slot))
