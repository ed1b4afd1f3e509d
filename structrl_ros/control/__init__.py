"""Control: chunk schedule, blending, limits, watchdog, arbitration, an episode of a body.

May enter: numpy, ruckig, modules beside the rooms; no ROS, no vendor package, no other room.
Time comes in with each call, never from a clock of its own.
"""
