"""Claims of LEAP sets: no leakage between splits, files that come back, runs that go on."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from leap_episodes import skill_episode
from leap_episodes import three_scenes
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import DatasetError
from structrl_ros.errors import ParameterError
from structrl_ros.naming import fold
from structrl_ros.training.leap_rows import RowSettings
from structrl_ros.training.leap_rows import drop_leaks
from structrl_ros.training.leap_rows import make_rows
from structrl_ros.training.leap_set import read_split
from structrl_ros.training.leap_set import split_path
from structrl_ros.training.leap_set import write_split
from structrl_ros.training.leap_split import split_episodes
from structrl_ros.training.leap_store import claim_folder
from structrl_ros.training.leap_store import load_episodes
from structrl_ros.training.leap_store import save_episode

SETTINGS = RowSettings(plans=20)


def splits(seed=0):
    train, test = split_episodes(three_scenes(), 0.2, seed)
    tested = list(make_rows(test, 'test', SETTINGS))
    trained = list(make_rows(train, 'train', SETTINGS))
    return trained, drop_leaks(trained, tested), tested


@pytest.mark.parametrize('seed', range(8))
def test_no_scene_picture_or_instruction_is_in_both_splits(seed):
    _, train, test = splits(seed)
    assert train and test
    for name in ('scene', 'episode', 'id'):
        assert not {getattr(r, name) for r in train} & {getattr(r, name) for r in test}
    assert not {fold(r.instruction) for r in train} & {fold(r.instruction) for r in test}
    assert not {i for r in train for i in r.images} & {i for r in test for i in r.images}


def test_an_instruction_of_the_test_split_is_left_out_of_the_training_split():
    found = [(len(trained) - len(train)) for trained, train, _ in map(splits, range(8))]
    assert max(found) > 0  # the sentence about the apple is told in two scenes


def test_each_skill_gives_an_end_that_is_done_and_a_middle_that_is_not():
    episode = skill_episode()
    rows = [r for r in make_rows([episode], 'train', SETTINGS) if r.kind == 'completion']
    assert [(r.instruction, r.done, r.answer) for r in rows] == [
        (phrase, done, str(done)) for phrase in episode.phrases for done in (True, False)
    ]
    for number in range(len(episode.phrases)):
        end, middle = rows[2 * number], rows[2 * number + 1]
        before, after = episode.boundaries[number : number + 2]
        assert end.images == (*before, *after)
        assert middle.images == (*before, *episode.middle_frames[number])


def test_plans_begin_at_their_picture_and_choices_are_for_tests_alone():
    episode = skill_episode()
    rows = list(make_rows([episode], 'test', SETTINGS))
    for row in (r for r in rows if r.kind == 'plan' and r.way == 'stretch'):
        first = episode.boundaries.index(row.images)
        assert row.plan == episode.phrases[first : first + len(row.plan)]
        assert row.instruction in row.prompt and 'place THING' in row.prompt
    choices = [r for r in rows if r.kind == 'choice']
    assert choices and all(r.options[r.correct] == r.plan for r in choices)
    assert all(r.answer == 'ABCD'[r.correct] for r in choices)
    assert {r.kind for r in make_rows([episode], 'train', SETTINGS)} == {'plan', 'completion'}


def test_rows_and_demonstrations_come_back_from_disk_as_they_were(tmp_path):
    _, train, test = splits()
    for split, rows in (('train', train), ('test', test)):
        write_split(tmp_path, split, rows)
        assert read_split(tmp_path, split) == rows
    assert [r.kind for r in read_split(tmp_path, 'test', ('choice',))].count('choice') == sum(
        r.kind == 'choice' for r in test
    )
    save_episode(tmp_path, skill_episode())
    assert load_episodes(tmp_path) == [skill_episode()]
    assert not list(tmp_path.rglob('.*'))


def test_a_cut_or_foreign_set_is_one_clear_line(tmp_path):
    with pytest.raises(DatasetError, match="has no split 'test'; it has none"):
        read_split(tmp_path, 'test')
    _, train, test = splits()
    write_split(tmp_path, 'train', train)
    with pytest.raises(DatasetError, match="has no split 'test'; it has train"):
        read_split(tmp_path, 'test')
    path = split_path(tmp_path, 'test')
    write_split(tmp_path, 'test', test)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DatasetError, match='is cut or no parquet file'):
        read_split(tmp_path, 'test')
    pq.write_table(pa.table({'id': ['a']}), path)
    with pytest.raises(DatasetError, match=r'test\.parquet'):
        read_split(tmp_path, 'test')


def test_a_folder_of_other_settings_or_other_things_is_refused(tmp_path):
    claim_folder(tmp_path / 'set', {'size_px': 64})
    claim_folder(tmp_path / 'set', {'size_px': 64})
    with pytest.raises(ParameterError, match='made with size_px 64, now 128'):
        claim_folder(tmp_path / 'set', {'size_px': 128})
    (tmp_path / 'notes.txt').write_text('mine')
    with pytest.raises(ParameterError, match='not empty and no LEAP set'):
        claim_folder(tmp_path, {'size_px': 64})


@pytest.mark.parametrize(
    ('words', 'told'),
    [
        ([], 'nothing to make a set of'),
        (['--tabletop', '1', '--task', 'fly'], "--task 'fly'; allowed: .*pack_lunch"),
        (['--tabletop', '1', '--picture', 'gif'], "--picture 'gif'; allowed: jpeg, png"),
        (['--bag', 'nowhere'], 'no bag at nowhere'),
        (['--bag', 'a/run/bag', '--bag', 'b/run/bag'], 'two recordings are called run_bag'),
    ],
)
def test_mistakes_on_the_command_line_say_what_is_allowed(tmp_path, words, told):
    result = CliRunner().invoke(app, ['data', 'leap', str(tmp_path / 'set'), *words])
    assert result.exit_code != 0
    with pytest.raises(type(result.exception), match=told):
        raise result.exception
