"""Chunk policies behind one port: `base.ChunkPolicy`; `registry` finds them by name.

May enter: torch and clients of policy servers; no trainer, no reward.
A policy samples chunks, tells their likelihood and its imitation loss.
"""
