"""Evaluation: statistics with intervals, tables and reports."""
