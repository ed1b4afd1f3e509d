"""Costs of the LIBERO body, in CPU time."""

import pytest

from structrl_ros.sim.libero.bench import measure_step_cost

pytestmark = pytest.mark.sim
pytest.importorskip('libero')


def test_a_step_costs_no_more_than_liberos_own():
    cost = measure_step_cost(steps=40)
    assert cost.body_ms > 1.0
    assert cost.ratio <= 1.03
