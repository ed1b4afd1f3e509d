"""Nodes: decode, one core call, encode.

May enter: rclpy, `wire`, `params` and every room below; no formula.
What can be told without ROS belongs into a room below, where it is tested without ROS.
"""
