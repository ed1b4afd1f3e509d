"""`TwinExpert`: the reactive experts behind the Policy port, on the kinematic twin."""

from __future__ import annotations

from structrl_ros.sim.tabletop.expert_policy import ExpertBody
from structrl_ros.sim.tabletop.expert_policy import TabletopExpert
from structrl_ros.sim.twin.body import TwinBody


class TwinExpert(TabletopExpert):
    """As `TabletopExpert`, for body 'twin': it needs no MuJoCo.

    It plays a twin of the default settings: noise that the body has on its actions comes on top.
    """

    def _make_body(self) -> ExpertBody:
        return TwinBody()
