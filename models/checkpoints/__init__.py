"""Small trained policies, one folder a body; each has a card."""
