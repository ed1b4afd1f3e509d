"""Cameras behind `ports.Camera`, and the thread that keeps one of them alive."""
