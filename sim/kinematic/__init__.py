"""A kinematic world in numpy: nodes, graphs and trainers are tried on it without MuJoCo."""
