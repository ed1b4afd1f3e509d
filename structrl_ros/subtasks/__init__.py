"""Subtasks: grounding to predicates, demonstration durations, the tracker."""
