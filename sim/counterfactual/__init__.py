"""Counterfactual pictures of recorded simulator states: what failed, or what only looks other."""
