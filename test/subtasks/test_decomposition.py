"""Static decompositions: the file, what is paid by it, LIBERO's goals."""

import dataclasses
import json

import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.subtasks.decomposition import Decomposition
from structrl_ros.subtasks.decomposition import Demonstration
from structrl_ros.subtasks.decomposition import DroppedSubtask
from structrl_ros.subtasks.decomposition import GroundedSubtask
from structrl_ros.subtasks.decomposition import Provenance
from structrl_ros.subtasks.decomposition import measured_durations
from structrl_ros.subtasks.decomposition import reward_rule
from structrl_ros.subtasks.decomposition_file import decomposition_to_document
from structrl_ros.subtasks.decomposition_file import read_decomposition
from structrl_ros.subtasks.decomposition_file import write_decomposition
from structrl_ros.subtasks.goal_conjuncts import goal_candidates

OPEN, IN, CLOSE = 'open(box_1)', 'in(apple_1, box_1)', 'close(box_1)'
DEMOS = (
    Demonstration(0, 0, 90, {OPEN: 19, IN: 59, CLOSE: 89}),
    Demonstration(1, 0, 80, {OPEN: 25, IN: 49, CLOSE: 79}),
)


def own(**changes):
    stages = tuple((GroundedSubtask(f'do {n}', n),) for n in (OPEN, IN, CLOSE))
    names = [[n] for n in (OPEN, IN, CLOSE)]
    durations, coverage = measured_durations(names, DEMOS, 10)
    whole = Decomposition(
        task='pack',
        body='table',
        instruction='open the box, put the apple in it, and close it',
        stages=stages,
        durations={10: durations},
        coverage=coverage,
        dropped=(DroppedSubtask('wave for a while', '', 'i', 'no template'),),
        demonstrations=DEMOS,
        provenance=Provenance('task data', 'structrl decompose pack', 'expert', 3, 10, 4),
    )
    return dataclasses.replace(whole, **changes)


def rule(decomposition, published=(OPEN, IN, CLOSE), **options):
    return reward_rule(decomposition, published, chunk_length=10, horizon_steps=200, **options)


def test_file_is_read_back_as_an_equal_value(tmp_path):
    path = tmp_path / 'deep' / 'pack.json'
    write_decomposition(path, own())
    assert read_decomposition(path) == own()


def test_durations_are_known_for_any_chunk_length_where_demonstrations_are_kept():
    assert own().durations_at(10) == {OPEN: 2.5, IN: 3.0, CLOSE: 3.0}
    assert own().durations_at(5) == {OPEN: 5.0, IN: 6.0, CLOSE: 6.0}
    with pytest.raises(ParameterError, match='no durations for chunks of 5 steps; known: 10'):
        own(demonstrations=()).durations_at(5)


def test_rule_pays_the_stages_by_the_durations():
    found = rule(own())
    assert found.stages == ((OPEN,), (IN,), (CLOSE,))
    assert found.durations == {OPEN: 2.5, IN: 3.0, CLOSE: 3.0}
    assert (found.beta, found.lambda_c, found.horizon_chunks) == (0.6, 2.0, 20.0)


def test_name_that_is_not_published_leaves_the_rule_with_its_stage():
    found = rule(own(), (CLOSE, IN, 'other(box_1)'))
    assert found.stages == ((IN,), (CLOSE,))
    assert set(found.durations) == {IN, CLOSE}


def test_demo_pacing_without_durations_says_what_to_do():
    bare = own(durations={}, demonstrations=(), coverage={})
    with pytest.raises(ParameterError, match=r'no duration of open\(box_1\); allowed: pacing'):
        rule(bare)
    assert rule(bare, pacing='uniform').durations == {}


BROKEN = [
    ('version', 2, 'version: 2; allowed: 1'),
    ('version', True, 'version: must be a whole number'),
    ('task', None, 'task: missing'),
    ('colour', 'red', 'colour: unknown field'),
    ('stages', [['open']], 'stages.0.0: must be an object'),
    ('stages', [{}], 'stages.0: must be a list'),
    ('stages', [[]], 'stages: an empty stage'),
    ('stages', [[{'phrase': 'a', 'predicate': OPEN}] * 2], 'listed twice'),
    ('durations', {'ten': {}}, 'durations.ten: allowed: chunk length'),
    ('durations', {'10': {OPEN: 9.0, IN: 3.0, CLOSE: 3.0}}, 'demonstrations give 2.5'),
    ('durations', {'10': {OPEN: -1}}, 'finite and > 0'),
    ('durations', {'10': {'wave': 1}}, 'no subtask of stages'),
    ('coverage', {OPEN: 1}, 'coverage: is not that'),
    ('dropped', [{'phrase': '', 'predicate': '', 'filter': 'v', 'reason': ''}], "filter 'v'"),
    ('provenance', {}, 'provenance.source: missing'),
    ('demonstrations', {'seeds': [0]}, 'demonstrations.initial_states: missing'),
]


@pytest.mark.parametrize(('field', 'value', 'message'), BROKEN)
def test_wrong_file_is_one_line_that_names_the_field(tmp_path, field, value, message):
    document = json.loads(json.dumps(decomposition_to_document(own())))
    document[field] = value
    if value is None:
        del document[field]
    path = tmp_path / 'pack.json'
    path.write_text(json.dumps(document))
    with pytest.raises(ParameterError) as caught:
        read_decomposition(path)
    assert str(caught.value).startswith(f'{path}: ')
    assert message in str(caught.value)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('text', 'message'),
    [('{', 'is no JSON'), ('[]', 'document: must be an object'), ('{"a": 1, "a": 2}', 'twice')],
)
def test_file_that_is_no_document_is_one_line(tmp_path, text, message):
    path = tmp_path / 'pack.json'
    path.write_text(text)
    with pytest.raises(ParameterError, match=message):
        read_decomposition(path)
    with pytest.raises(ParameterError, match='No such file'):
        read_decomposition(tmp_path / 'none.json')


def names_of(conjuncts, instruction, grasps):
    found = goal_candidates(conjuncts, instruction, grasps=grasps)
    stages = {}
    for candidate in found:
        stages.setdefault(candidate.stage, []).append(candidate.predicate)
    return [stages[k] for k in sorted(stages)]


def test_closing_comes_after_what_is_put_in():
    drawer = 'white_cabinet_1_bottom_region'
    goal = [f'close({drawer})', f'in(bowl_1, {drawer})']
    assert names_of(goal, 'put the bowl in the bottom drawer and close it', False) == [
        [f'in(bowl_1, {drawer})'],
        [f'close({drawer})'],
    ]
    mug = ['in(mug_1, microwave_1_heating_region)', 'close(microwave_1)']
    assert names_of(mug, 'put the mug in the microwave and close it', False) == [[m] for m in mug]


def test_goals_without_an_order_are_one_group():
    goal = ['in(soup_1, basket_1)', 'in(sauce_1, basket_1)']
    assert names_of(goal, 'put both in the basket', False) == [goal]


def test_grasp_is_inserted_before_a_placement_but_not_before_a_push():
    goal = ['on(bowl_1, plate_1)']
    assert names_of(goal, 'put the bowl on the plate', True) == [['grasp(bowl_1)'], goal]
    assert names_of(['on(plate_1, stove_front)'], 'push the plate to the front', True) == [
        ['on(plate_1, stove_front)']
    ]
    assert names_of(['turnon(stove_1)'], 'turn on the stove', True) == [['turnon(stove_1)']]
