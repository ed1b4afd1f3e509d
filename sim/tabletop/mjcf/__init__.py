"""Our own MJCF of arm, table, fixtures and objects: no meshes, written by small functions."""
