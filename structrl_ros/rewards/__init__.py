"""Rewards: structured (gate, pace, cap), shaping, Robometer, the ledger.

May enter: numpy and the modules beside the rooms; no ROS, no torch, no other room.
Whatever pays a chunk is a function here, live, in a trainer and in `structrl score` alike.
"""
