"""Experiments about learning: arms and seeds as data, one file a family, a runner, a report.

May enter: what is compared and how a claim is judged; trainers stay in `training`.
A claim and its margin are written down before the runs.
"""
