"""Subtasks: grounding to predicates, filters, demonstration durations, the tracker.

May enter: numpy, scipy and the modules beside the rooms; no ROS, no simulator, no other room.
Here it is decided what is paid and what is pursued; how much is paid is decided in `rewards`.
"""
