"""Training: a readable file a trainer; rollouts, reward sources, sets, checkpoints of a run.

May enter: torch, models, sim and recording; no ROS.
Formulas come from `learning`, `rewards` and `progress`; here are loops, losses and files.
"""
