"""Event models (MART-GRPO, Section 3.1): what went wrong in a failed rollout, behind one port.

May enter: what the room `models` may; torch, transformers and xgrammar only for the local model.
"""
