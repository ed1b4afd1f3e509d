"""Whether two rollouts are equal to the last bit."""

import dataclasses

import numpy as np


def assert_equal(one, other):
    """Compare everything but the CPU time, types of numbers included."""
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, field.name
            assert np.array_equal(a, b), field.name
        elif field.name in ('tasks', 'starts', 'first_episode'):
            assert a == b, field.name
    assert one.images.keys() == other.images.keys()
    for role, images in one.images.items():
        assert np.array_equal(images, other.images[role]), role
