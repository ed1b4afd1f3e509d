"""`structrl score`: golden files, one clear line a fault, the other cases still scored."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from structrl_ros.cli.score import score_command
from structrl_ros.cli.score import score_document
from structrl_ros.cli.score_kinds import KINDS
from structrl_ros.errors import ParameterError

FOLDER = Path(__file__).parents[1] / 'golden'
REWARD = {'stages': [['a']], 'durations': {'a': 1.0}, 'truth': [['a']], 'success': [False]}
GAE = {
    'rewards': [1.0],
    'values': [0.0],
    'terminated': [False],
    'truncated': [False],
    'bootstrap': [0.0],
    'gamma': 0.9,
    'lambda': 0.9,
}


def assert_same(got, expected):
    if isinstance(expected, dict):
        for key, value in expected.items():
            assert_same(got[key], value)
    elif isinstance(expected, list):
        assert len(got) == len(expected)
        for pair in zip(got, expected, strict=True):
            assert_same(*pair)
    elif isinstance(expected, float):
        assert got == pytest.approx(expected, abs=1e-9)
    else:
        assert got == expected


def test_there_is_a_golden_file_for_each_of_the_thirteen_kinds():
    assert {path.stem for path in FOLDER.glob('*.json')} == set(KINDS)
    assert len(KINDS) == 13


@pytest.mark.parametrize('kind', KINDS)
def test_score_prints_what_the_golden_file_expects(kind, capsys):
    path = FOLDER / f'{kind}.json'
    status = score_command(kind, str(path))
    printed = json.loads(capsys.readouterr().out)
    cases = json.loads(path.read_text())['cases']
    assert printed['kind'] == kind
    assert len(printed['cases']) == len(cases)
    for case, result in zip(cases, printed['cases'], strict=True):
        if 'error' in case['expected']:
            assert result['error']
        else:
            assert_same(result['output'], case['expected'])
    assert status == int(any('error' in case['expected'] for case in cases))


@pytest.mark.parametrize(
    ('kind', 'document', 'fault'),
    [
        ('structured_reward', REWARD | {'succes': []}, 'succes: unknown field; allowed: stages'),
        ('structured_reward', {'stages': []}, 'truth: missing'),
        ('structured_reward', REWARD | {'durations': {'a': -4.0}}, 'durations.a: must be'),
        ('structured_reward', REWARD | {'durations': {'a': '4'}}, 'durations.a: '),
        ('structured_reward', REWARD | {'durations': {}}, 'durations.a: '),
        ('structured_reward', REWARD | {'stages': [['a'], ['a']]}, "stages: 'a' is listed twice"),
        ('structured_reward', REWARD | {'success': []}, 'success: must have one entry a chunk'),
        ('structured_reward', REWARD | {'success': [1]}, 'success.0: '),
        ('structured_reward', REWARD | {'beta': float('inf')}, 'beta: '),
        ('structured_reward', REWARD | {'pacing': 'demoo'}, "pacing: unknown 'demoo'"),
        ('gae', GAE | {'values': [0.0, 0.0]}, 'values: shape must be'),
        ('gae', GAE | {'rewards': [float('nan')]}, 'rewards.0: '),
        ('gae', GAE | {'gamma': 2.0}, 'gamma: must be'),
        ('gae', GAE | {'rewards': [1e308], 'values': [-1e308]}, 'output: overflows'),
        ('plan_reward', {'generated': [{'action': 'a'}], 'truth': []}, 'generated.0.objects: '),
        ('signed_hop', {'pairs': [[0, 1, False]]}, 'pairs.0.3: missing'),
        ('panels', {'t_before': 1.5}, 't_before: '),
        ('panels', dict.fromkeys(('t_before', 't_after', 'pre_panels', 'between_panels'), 10**9)
            | {'grid': 3}, 'pre_panels: '),
        ('fuse', {'forward': [0.1], 'backward': [], 'incremental': [0.1]}, 'backward: shape'),
        ('demo_durations', {'stages': [['a']], 'demos': [{}], 'chunk_length': 10}, 'demos.0.a: '),
    ],
)  # fmt: skip
def test_fault_names_case_and_field_and_the_other_cases_are_scored(kind, document, fault):
    good = json.loads((FOLDER / f'{kind}.json').read_text())['cases'][0]
    bad = {'name': 'mine', 'input': document}
    result, is_fine = score_document(kind, {'cases': [good, bad, good]})
    assert not is_fine
    line = result['cases'][1]['error']
    assert line.startswith(f'cases[1] (mine): {fault}')
    assert '\n' not in line
    assert_same(result['cases'][0]['output'], good['expected'])
    assert result['cases'][2] == result['cases'][0]


def test_missing_prediction_gives_valid_flags():
    document = {'forward': [0.2, None], 'backward': [-0.8, 0.1], 'incremental': [0.2, 0.1]}
    result, is_fine = score_document('fuse', {'cases': [{'input': document}]})
    output = result['cases'][0]['output']
    assert is_fine
    assert output['valid'] == [True, False]
    assert output['potential'][2] == output['potential'][1] == pytest.approx(0.2)


def test_voc_of_a_value_that_is_not_finite_is_null():
    cases = [
        {'input': {'hops': [hop], 'truth': [0.0, 1.0], 'floors': [0]}}
        for hop in (None, float('inf'), 0.5)
    ]
    result, is_fine = score_document('voc', {'cases': cases})
    assert is_fine
    assert [case['output']['voc'] for case in result['cases']] == [None, None, 1.0]


def test_duration_of_null_filters_the_subtask_out():
    document = REWARD | {
        'stages': [['a'], ['b']],
        'durations': {'a': None, 'b': 1.0},
        'truth': [['b']],
    }
    result, _ = score_document('structured_reward', {'cases': [{'input': document}]})
    assert result['cases'][0]['output']['events'] == [[1, 'b', 0.3]]


@pytest.mark.parametrize(
    ('kind', 'document', 'fault'),
    [
        ('gea', {'cases': []}, "unknown kind 'gea'; known: structured_reward"),
        ('gae', {'case': []}, 'list "cases"'),
        ('gae', {'kind': 'voc', 'cases': []}, "of kind 'voc', not 'gae'"),
    ],
)
def test_wrong_document_is_one_line(kind, document, fault):
    with pytest.raises(ParameterError, match=fault):
        score_document(kind, document)


def test_dash_reads_standard_input(monkeypatch, capsys):
    document = json.dumps({'cases': [{'input': GAE}, {'input': GAE | {'gamma': 9.0}}]})
    monkeypatch.setattr('sys.stdin', io.StringIO(document))
    assert score_command('gae', '-') == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)['cases'][0] == {
        'output': {'advantages': [1.0], 'returns': [1.0]}
    }
    assert captured.err.startswith('structrl score: cases[1]: gamma: ')


def test_unreadable_file_is_one_line(tmp_path):
    (tmp_path / 'bad.json').write_text('{"cases": [')
    (tmp_path / 'list.json').write_text('[]')
    for name, fault in (('none', 'No such file'), ('bad', 'no JSON'), ('list', 'JSON object')):
        with pytest.raises(ParameterError, match=fault):
            score_command('gae', str(tmp_path / f'{name}.json'))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=6,
)


@given(st.sampled_from(sorted(KINDS)), st.data())
@settings(max_examples=300)
def test_any_json_gives_an_output_or_one_line_and_never_raises(kind, data):
    model, _ = KINDS[kind]
    good = json.loads((FOLDER / f'{kind}.json').read_text())['cases'][0]['input']
    names = [field.alias or name for name, field in model.model_fields.items()]
    changed = {name: data.draw(JSON) for name in data.draw(st.sets(st.sampled_from(names)))}
    result, is_fine = score_document(kind, {'cases': [{'input': good | changed}]})
    json.dumps(result, allow_nan=False)
    assert is_fine == ('error' not in result['cases'][0])
    assert '\n' not in result['cases'][0].get('error', '')
