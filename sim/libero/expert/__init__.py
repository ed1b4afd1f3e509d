"""The scripted expert: privileged skills that carry out one subtask each in a LIBERO world.

May enter: MuJoCo state and numpy; nothing that learns.
A skill sees the whole state of the simulator, so no learned policy may call it.
"""

from structrl_ros.sim.libero.expert.skills import make_skill

__all__ = ['make_skill']
