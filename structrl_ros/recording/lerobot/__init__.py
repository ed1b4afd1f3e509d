"""LeRobotDataset v3.0: written from bags, and read back into bags.

May enter: pyarrow, av and the rest of `recording`; not the lerobot package.
The layout of the format is known here and nowhere else.
"""
