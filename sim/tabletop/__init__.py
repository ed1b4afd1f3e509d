"""Tabletop tasks as data, what can be seen of them, and the worlds and experts that play them."""
