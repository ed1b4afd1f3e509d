"""A kinematic mirror of an arm: a scene that follows an arm which something else moves."""
