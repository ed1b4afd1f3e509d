"""LIBERO behind the Body port: tasks, the body itself, and its privileged scripted expert.

Nothing here imports MuJoCo, robosuite or LIBERO before a `LiberoBody` is reset.
"""
