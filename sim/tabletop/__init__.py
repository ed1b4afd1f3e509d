"""Tabletop tasks as data, what can be seen of them, and the worlds and experts that play them.

May enter: MuJoCo in the world, numpy elsewhere; no meshes of others.
A new task is a file in `tasks/`, not code.
"""
