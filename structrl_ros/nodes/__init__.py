"""Nodes: decode, one core call, encode."""
