"""Our own MJCF of arm, table, fixtures and objects: no meshes, written by small functions.

May enter: XML and numbers; no MuJoCo, no state.
What stands on a table is told by the task files.
"""
