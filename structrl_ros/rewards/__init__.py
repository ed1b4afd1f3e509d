"""Rewards: structured (gate, pace, cap), shaping, Robometer, the ledger."""
