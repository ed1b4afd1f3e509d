"""Parameters: one validated dataclass a node, and node graphs.

May enter: YAML and the rooms below; no ROS, no torch.
A default stands here once, with its description, unit and bounds.
"""
