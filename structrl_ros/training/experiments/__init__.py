"""Experiments about learning: arms and seeds as data, one file a family, a runner, a report."""
