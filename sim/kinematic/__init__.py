"""A kinematic world in numpy: nodes, graphs and trainers are tried on it without MuJoCo.

May enter: numpy alone.
It stays small enough to be read at once; tasks to learn belong into `twin` and `tabletop`.
"""
