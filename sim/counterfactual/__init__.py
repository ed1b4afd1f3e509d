"""Counterfactual pictures of recorded simulator states: what failed, or what only looks other.

May enter: MuJoCo; operators and intervals come from `progress.operators`.
The body is left as it was; a picture that cannot be made is an error.
"""
