"""What a trainer tells at the end of a run."""

import pytest

from structrl_ros.cli.training_display import rollback_advice


def rows(*flags):
    return [{} if flag is None else {'actor/rolled_back': flag} for flag in flags]


@pytest.mark.parametrize('flags', [(), (None, None), (0.0, 0.0, 1.0, 0.0), (0.0, None)])
def test_a_run_that_kept_most_iterations_gets_no_advice(flags):
    assert rollback_advice(rows(*flags)) == ''


def test_a_run_that_lost_many_iterations_is_advised_a_lower_rate():
    line = rollback_advice(rows(1.0, 0.0, 1.0, None))
    assert line.startswith('2 of 3 iterations')
    assert 'learning_rate' in line
