"""Plans: skill grammar, parsing, verifiable reward, the state machine of REVER's Algorithm 1.

May enter: numpy, scipy and the modules beside the rooms; no ROS, no model, no other room.
Models and clocks come through ports; what a planner answers enters as text alone.
"""
