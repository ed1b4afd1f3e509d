"""The scripted expert: privileged skills that carry out one subtask each in a LIBERO world."""

from structrl_ros.sim.libero.expert.skills import make_skill

__all__ = ['make_skill']
