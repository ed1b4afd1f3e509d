"""LIBERO behind the Body port: tasks, the body itself, and its privileged scripted expert.

May enter: LIBERO, robosuite and MuJoCo, none of them before a `LiberoBody` is reset.
What LIBERO is called and how it is installed is known here and nowhere else.
"""
