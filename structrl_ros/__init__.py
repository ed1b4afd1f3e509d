"""A sentence to a Franka arm that does it: plans, subtasks, rewards and chunk control on ROS 2.

This import needs numpy alone; simulators, networks and ROS load where they are used.
"""

__version__ = '0.1.0'
