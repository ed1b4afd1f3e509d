"""Evaluation: protocols, accounts of episodes, failures, stopping rules, statistics.

May enter: numpy, scipy and the modules beside the rooms; no ROS, no torch, no other room.
A number that is reported has its interval from here.
"""
