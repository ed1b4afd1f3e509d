"""Learning: GAE, group advantages, failure truncation, replay, an operator's labels.

May enter: numpy and the modules beside the rooms; no torch, no other room.
What a trainer takes as a constant is computed here; what needs a gradient lives in `training`.
"""
