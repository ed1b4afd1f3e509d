"""Simulated worlds behind the Body port, and their scripted experts.

May enter: numpy, and MuJoCo, robosuite or LIBERO where a body needs them; no ROS.
Reached as `structrl_ros.sim` alone; nothing heavy is imported before a body is reset.
"""
