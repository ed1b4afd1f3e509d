"""Small trained models, one folder a body or task; each has a card.

May enter: safetensors, JSON and cards; no code.
A card tells data, command and measured numbers.
"""
