"""Reference durations from demonstrations (StructRL Section 3.2.2)."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.subtasks.durations import demo_durations
from structrl_ros.subtasks.durations import drop_untimed

GOLDEN = json.loads((Path(__file__).parents[1] / 'golden/demo_durations.json').read_text())[
    'cases'
]


@pytest.mark.parametrize('case', GOLDEN, ids=[case['name'] for case in GOLDEN])
def test_demo_durations_equal_golden(case):
    result = demo_durations(**case['input'])
    assert result.durations == pytest.approx(case['expected']['durations'], abs=1e-9)
    assert result.coverage == case['expected']['coverage']


def test_interval_runs_from_the_latest_prerequisite():
    demos = [{'a': 9, 'b': 40, 'c': 95}]
    result = demo_durations([['a', 'b'], ['c']], demos, 10)
    assert result.durations == {'a': 1.0, 'b': 5.0, 'c': 5.0}


def test_demo_without_a_prerequisite_counts_for_nothing_after_it():
    result = demo_durations([['a'], ['b']], [{'a': None, 'b': 30}, {'a': 10, 'b': 30}], 10)
    assert result.coverage == {'a': 1, 'b': 1}
    assert result.durations == {'a': 2.0, 'b': 2.0}


def test_subtask_that_no_demo_shows_is_dropped_with_its_stage():
    result = demo_durations([['a'], ['b'], ['c', 'd']], [{'a': 5, 'b': None, 'c': 8, 'd': 9}], 10)
    assert result.durations == {'a': 1.0, 'b': None, 'c': None, 'd': None}
    assert drop_untimed([['a'], ['b'], ['c']], {'a': 2.0, 'b': None, 'c': 3.0}) == (
        (('a',), ('c',)),
        {'a': 2.0, 'c': 3.0},
    )


@given(
    st.lists(st.fixed_dictionaries({n: st.integers(0, 300) for n in 'abc'}), min_size=1),
    st.integers(1, 30),
)
def test_durations_are_at_least_one_chunk_and_at_most_the_demo(demos, length):
    result = demo_durations([['a'], ['b', 'c']], demos, length)
    for name, value in result.durations.items():
        assert 1.0 <= value <= max(demo[name] for demo in demos) // length + 1
        assert result.coverage[name] == len(demos)


@pytest.mark.parametrize(
    ('stages', 'demo', 'length', 'field'),
    [
        ([['a', 'a']], {'a': 1}, 10, 'stages'),
        ([['a']], {'a': -1}, 10, r'demos\.0\.a'),
        ([['a']], {}, 10, r'demos\.0\.a'),
        ([['a']], {'a': 1, 'b': 1}, 10, r'demos\.0\.b'),
        ([['a']], {'a': 1}, 0, 'chunk_length'),
    ],
)
def test_wrong_input_names_the_field(stages, demo, length, field):
    with pytest.raises(ParameterError, match=f'^{field}: '):
        demo_durations(stages, [demo], length)
