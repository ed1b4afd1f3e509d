"""Simulated worlds behind the Body port, and their scripted experts."""
