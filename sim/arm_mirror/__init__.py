"""A kinematic mirror of an arm: a scene that follows an arm which something else moves.

May enter: MuJoCo's kinematics and drawing; no dynamics, no control.
It shows what an arm did and never decides what it does.
"""
