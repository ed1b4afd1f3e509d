"""Reactive experts of the tabletop tasks: the wanted move is a function of the view alone."""
