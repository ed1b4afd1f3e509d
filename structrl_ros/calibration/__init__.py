"""Calibration: boards, their detection, hand-eye solvers and what a result is worth.

May enter: numpy, scipy, OpenCV, pictures and YAML; no ROS, no camera driver.
The data of a cell lies in the folder `calibration/` at the top, not here.
"""
