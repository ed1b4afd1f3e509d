"""Protocol files: what is read, and one line for everything that is not allowed."""

from pathlib import Path

import pytest
import yaml

from structrl_ros.errors import ParameterError
from structrl_ros.training.protocol_document import document_of_protocol
from structrl_ros.training.protocol_document import protocol_of_document
from structrl_ros.training.protocol_document import read_protocol

GOOD = {'format': 1, 'name': 'p', 'body': 'twin', 'tasks': ['pack_lunch'], 'episodes': 4}
REAL = {**GOOD, 'body': 'arm', 'success': 'person'}


def test_everything_is_read_and_paths_are_those_of_the_files_folder(tmp_path):
    document = {
        **REAL,
        'tasks': [
            {'name': 't', 'instruction': 'do', 'cards': [{'text': 'left', 'picture': 'a.png'}]}
        ],
        'seeds': 7,
        'order': 'shuffled',
        'order_seed': 3,
        'blinding': True,
        'policies': {
            'x': {'policy': 'checkpoint', 'checkpoint': 'runs/x'},
            'y': {'policy': 'remote', 'server': 'ws://h:1'},
        },
        'stop': {'rule': 'paired', 'high': 0.8, 'alpha': 0.1},
    }
    path = tmp_path / 'p.yaml'
    path.write_text(yaml.safe_dump(document))
    read = read_protocol(path)
    assert read.tasks[0].cards[0].picture == str(tmp_path / 'a.png')
    assert [p.name for p in read.policies] == ['x', 'y']
    assert read.policies[0].checkpoint == str(tmp_path / 'runs' / 'x')
    assert (read.seeds, read.stop.alpha, read.order_seed) == ((7,), 0.1, 3)
    assert protocol_of_document(document_of_protocol(read), folder=Path('/')) == read


@pytest.mark.parametrize(
    ('change', 'line'),
    [
        ({'format': 2}, r'format: .*got 2'),
        ({'episodes': 0}, r'episodes: .*got 0'),
        ({'episodes': None}, r'episodes: .*got None'),
        ({'tasks': []}, 'tasks: '),
        ({'tasks': ['a', 'a']}, 'a task is named twice'),
        ({'body': 'spot'}, "body: unknown 'spot'; allowed: kinematic"),
        ({'seeds': -1}, 'seeds: -1; allowed: 0 to'),
        ({'seeds': []}, 'seeds: '),
        ({'succes': 'truth'}, "unknown key 'succes'; allowed: format, name"),
        ({'success': 'luck'}, r"success: .*got 'luck'"),
        ({'time_limit_s': float('nan')}, 'time_limit_s: '),
        ({'policies': {'a': {'policy': 'checkpoint'}}}, 'checkpoint must be given'),
        ({'policies': {'a': {'policy': 'remote'}}}, 'server must be given'),
        ({'policies': {'a': {'policy': 'magic'}}}, r"policies.a.policy: .*got 'magic'"),
        ({'stop': {'rule': 'rate', 'low': 0.7, 'high': 0.7}}, 'allowed: low < high'),
        ({'stop': {'rule': 'paired', 'high': 0.5}}, 'allowed: low < high'),
        ({'stop': {'rule': 'paired', 'alpha': 0.5}}, 'stop.alpha: '),
        ({'body': 'arm', 'success': 'person'}, "'pack_lunch' has no instruction"),
        ({'body': 'arm', 'success': 'truth'}, 'allowed for an arm: subtasks, person'),
        (
            {'stop': {'rule': 'paired', 'high': 0.8}, 'policies': {'a': {'policy': 'expert'}}},
            'needs two policies, got 1',
        ),
    ],
)
def test_what_is_not_allowed_is_one_line(change, line):
    with pytest.raises(ParameterError, match=line) as error:
        protocol_of_document({**GOOD, **change})
    assert '\n' not in str(error.value)


@pytest.mark.parametrize('text', ['- a', '{', 'name: [', ''])
def test_a_file_that_is_no_mapping_is_one_line(tmp_path, text):
    path = tmp_path / 'p.yaml'
    path.write_text(text)
    with pytest.raises(ParameterError, match='protocol ') as error:
        read_protocol(path)
    assert '\n' not in str(error.value)


def test_a_missing_file_is_one_line():
    with pytest.raises(ParameterError, match='no such file'):
        read_protocol(Path('/nowhere/p.yaml'))


def test_a_missing_key_is_named():
    with pytest.raises(ParameterError, match='protocol: body must be given'):
        protocol_of_document({k: v for k, v in GOOD.items() if k != 'body'})
