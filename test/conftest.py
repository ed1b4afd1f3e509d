"""Settings of every test: hypothesis repeats the same examples and has no deadline."""

from hypothesis import settings

# A deadline fails on a busy machine, and a check that is red must be red again when repeated.
settings.register_profile('repeatable', deadline=None, derandomize=True, database=None)
settings.load_profile('repeatable')
