"""Cameras behind `ports.Camera`, and the thread that keeps one of them alive.

May enter: pyrealsense2 and OpenCV inside their own modules; no ROS.
A frame leaves with the stamp of its exposure on the body's clock.
"""
