"""Failure events of simulated rollouts, read off their true states: the reference of MART-GRPO.

May enter: numpy and the tabletop's tasks; no simulator is stepped here but by `watcher`.
"""
