"""Learning: GAE, group advantages, failure truncation."""
