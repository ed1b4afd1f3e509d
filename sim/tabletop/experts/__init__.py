"""Reactive experts of the tabletop tasks: the wanted move is a function of the view alone.

May enter: numpy and the view of a task; no simulator, no memory.
Twin and MuJoCo play the same experts.
"""
