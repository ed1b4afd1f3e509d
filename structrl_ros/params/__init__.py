"""Parameters: one validated dataclass a node, and node graphs."""
