"""`structrl decompose`: the table, the file, and one line for each mistake."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from structrl_ros.cli.decompose import named_tasks
from structrl_ros.cli.main import app
from structrl_ros.errors import StructRLError
from structrl_ros.sim.decompositions import shipped_decomposition
from structrl_ros.subtasks.decomposition_file import read_decomposition

KINEMATIC = 'kinematic/two_in_basket'
NAMES = [
    'grasp(alphabet_soup_1)',
    'in(alphabet_soup_1, basket_1_contain_region)',
    'grasp(tomato_sauce_1)',
    'in(tomato_sauce_1, basket_1_contain_region)',
]


def run(*words):
    result = CliRunner().invoke(app, ['decompose', *map(str, words)], env={'COLUMNS': '200'})
    if isinstance(result.exception, StructRLError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_table_and_file_tell_stages_durations_and_coverage(tmp_path):
    path = tmp_path / 'two.json'
    shown = run(KINEMATIC, '--body', 'kinematic', '--demos', 3, '--out', path)
    own = read_decomposition(path)
    assert list(own.names) == NAMES
    assert [len(stage) for stage in own.stages] == [1, 1, 1, 1]
    assert own.coverage == dict.fromkeys(NAMES, 3)
    assert own.provenance.source == 'rule planner'
    assert own.provenance.attempts == len(own.demonstrations) == 3
    assert '--demos 3' in own.provenance.command
    for name, chunks in own.durations[8].items():
        row = next(line for line in shown.splitlines() if name in line)
        assert f'{chunks:.1f}' in row
        assert '3 of 3' in row


def test_same_command_twice_writes_the_same_bytes(tmp_path):
    for name in ('a.json', 'b.json'):
        run(KINEMATIC, '--body', 'kinematic', '--demos', 2, '--out', tmp_path / name)
    assert (tmp_path / 'a.json').read_bytes() == (tmp_path / 'b.json').read_bytes()


def test_text_of_a_model_is_grounded_and_what_fails_is_told_with_its_filter(tmp_path):
    text = tmp_path / 'answer.txt'
    stages = [
        ['grasp alphabet soup', 'grasp tomato sauce'],
        ['stir the soup for a while'],
        ['place alphabet soup in basket', 'place alphabet soup in basket'],
        ['open basket', 'close the fridge'],
    ]
    text.write_text(f'<answer>{json.dumps({"stages": stages})}</answer>')
    path = tmp_path / 'two.json'
    shown = run(KINEMATIC, '--body', 'kinematic', '--stages', text, '--out', path)
    own = read_decomposition(path)
    assert own.stage_names == ((NAMES[0], NAMES[2]), (NAMES[1],))
    assert (own.variant, own.provenance.source) == ('text', 'model text')
    assert [(d.phrase, d.filter) for d in own.dropped] == [
        ('stir soup for while', 'i'),
        ('place alphabet soup in basket', 'iv'),
        ('open basket', 'i'),
        ('close fridge', 'i'),
    ]
    assert '(iv)' in shown


def test_attempt_at_a_plan_that_does_not_succeed_is_no_demonstration(tmp_path):
    text = tmp_path / 'answer.txt'
    text.write_text('{"stages": [["place tomato sauce in basket"], ["grasp alphabet soup"]]}')
    path = tmp_path / 'two.json'
    run(KINEMATIC, '--body', 'kinematic', '--stages', text, '--demos', 2, '--out', path)
    own = read_decomposition(path)
    assert own.provenance.attempts == 2
    assert own.demonstrations == ()


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['kinematic/none', '--body', 'kinematic'], 'unknown task'),
        ([KINEMATIC, '--body', 'nobody'], 'unknown body'),
        ([KINEMATIC, '--body', 'kinematic', '--source', 'goal'], 'has no goal conjuncts'),
        ([KINEMATIC, '--body', 'kinematic', '--source', 'llm'], "source: unknown 'llm'"),
        ([KINEMATIC, '--body', 'kinematic', '--density'], 'publishes no checkpoints'),
        ([KINEMATIC, '--body', 'kinematic', '--stages', 'none.txt'], '--stages none.txt: No such'),
        (['long/77'], 'unknown LIBERO task'),
        ([','], 'no task is named'),
    ],
)
def test_mistake_is_one_line(words, message):
    with pytest.raises(StructRLError) as caught:
        run(*words)
    assert message in str(caught.value)
    assert '\n' not in str(caught.value)


def test_text_that_is_no_plan_is_one_line(tmp_path):
    text = tmp_path / 'answer.txt'
    for content, message in (('', 'is empty'), ('{"stages": [["fly"]]}', 'unknown verb')):
        text.write_text(content)
        with pytest.raises(StructRLError, match=message):
            run(KINEMATIC, '--body', 'kinematic', '--stages', text)


def test_plan_that_tells_the_expert_nothing_is_one_line(tmp_path):
    text = tmp_path / 'answer.txt'
    text.write_text('{"stages": [["stir the soup for a while"]]}')
    with pytest.raises(StructRLError, match='no step of the plan has a predicate'):
        run(KINEMATIC, '--body', 'kinematic', '--stages', text, '--demos', 1)


def test_file_that_cannot_be_written_is_one_line():
    with pytest.raises(StructRLError, match=r'/proc/none/two.json: '):
        run(KINEMATIC, '--body', 'kinematic', '--out', '/proc/none/two.json')


def test_command_ends_with_status_1_and_no_traceback():
    words = ['decompose', KINEMATIC, '--body', 'nobody']
    done = subprocess.run(
        [sys.executable, '-m', 'structrl_ros.cli.main', *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("structrl: unknown body 'nobody'")
    assert 'Traceback' not in done.stderr


def test_suites_and_lists_name_their_tasks():
    assert named_tasks('libero', 'long') == tuple(f'long/{n}' for n in range(10))
    assert named_tasks('libero', 'goal/3, long/0') == ('goal/3', 'long/0')
    assert len(named_tasks('libero', 'all')) == 40
    assert 'pack_lunch' in named_tasks('tabletop', 'all')


def test_decomposition_that_is_not_shipped_lists_those_that_are():
    with pytest.raises(
        StructRLError, match=r'shipped: long/0, long/0.plan; structrl decompose makes one'
    ):
        shipped_decomposition('libero', 'long/0', 'density_99')
    with pytest.raises(StructRLError, match='is shipped'):
        shipped_decomposition('libero', '../../../pyproject')
