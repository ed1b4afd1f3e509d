"""Recording: bags in and out, films, traces, reports and exports of runs.

May enter: the pure rooms, rosbags and MCAP, formats of pictures and tables; no rclpy, no node.
A recording is decoded to the dataclasses of `types` before anything is computed from it.
"""
