"""LIBERO scenes that tell of things their own goal leaves out."""

import pytest

from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.tasks import find_task
from structrl_ros.sim.registry import make_body

MILK = 'in(milk_1, basket_1_contain_region)'


def test_what_is_watched_is_part_of_the_name_and_comes_back():
    task = find_task(f'object/9 + {MILK}')
    assert task.watched == (MILK,)
    assert find_task(task.id) == task
    assert find_task('object/9').watched == ()
    assert find_task('object/9').id == 'object/9'


@pytest.mark.sim
@pytest.mark.slow
def test_watched_truth_is_told_and_is_no_part_of_the_goal():
    body = make_body('libero')
    goal = 'in(butter_1, basket_1_contain_region)'
    try:
        plain = body.reset('object/6', 0, 0).predicate_names
        more = body.reset('object/6 + in(tomato_sauce_1, basket_1_contain_region)', 0, 0)
        assert plain == (goal, 'grasp(butter_1)')
        assert more.predicate_names == (
            goal,
            'in(tomato_sauce_1, basket_1_contain_region)',
            'grasp(butter_1)',
            'grasp(tomato_sauce_1)',
        )
        assert body.predicates.goal == (goal,)
        with pytest.raises(SimulationError, match="cannot watch 'nothing_1'"):
            body.reset('object/6 + in(nothing_1, basket_1_contain_region)', 0, 0)
    finally:
        body.close()
