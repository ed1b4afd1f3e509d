"""A recorder's bags: one after another, whatever the disk does, with what is missing."""

import errno

import pytest

from structrl_ros.errors import BagError
from structrl_ros.recording import bag_parts
from structrl_ros.recording.bag_format import BagFormat
from structrl_ros.recording.bag_format import TopicQos
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_recorder import BagRecorder
from structrl_ros.recording.bag_recorder import next_directory
from structrl_ros.recording.gaps import PublicationCounter

TOPICS = {'/words': ('std_msgs/msg/String', TopicQos())}
WORD = bytes([0, 1, 0, 0, 3, 0, 0, 0]) + b'hi\0'


@pytest.fixture
def bags():
    """A recorder of bags; `told` is what it said of failures."""
    told = []
    recorder = BagRecorder(BagFormat(), PublicationCounter(), failed=told.append)
    recorder.told = told
    return recorder


def test_bags_follow_each_other_and_the_last_one_is_told(bags, tmp_path):
    assert bags.summary.startswith('nothing is recorded')
    for count in (1, 2):
        assert bags.begin(tmp_path / str(count), TOPICS)
        for _ in range(count):
            bags.write('/words', WORD)
        assert bags.numbers()['messages'] == count
        assert bags.end() == bags.summary == f'ended: {count} messages in {tmp_path / str(count)}'
        bags.write('/words', WORD)
        assert len(list(BagReader(tmp_path / str(count)).raw_messages())) == count
    assert not bags.is_open
    assert not bags.told


def test_what_is_missing_is_told_and_kept_and_the_next_bag_begins_anew(bags, tmp_path):
    bags.begin(tmp_path / 'a', TOPICS)
    assert [bags.see_chunk('/words', 1, k) for k in (1, 4)] == [0, 2]
    bags.flush_if_due()
    assert bags.summary.endswith(', 2 missing')
    assert bags.numbers()['gap /words'] == 2
    bags.end()
    assert BagReader(tmp_path / 'a').missing['/words'] == 2
    bags.begin(tmp_path / 'b', TOPICS)
    assert bags.see_chunk('/words', 1, 9) == 0
    assert not bags.missing


def test_folder_that_exists_is_refused_and_one_that_cannot_be_made_is_told(bags, tmp_path):
    with pytest.raises(BagError, match='nothing is overwritten'):
        bags.begin(tmp_path, TOPICS)
    (tmp_path / 'file').write_text('')
    assert not bags.begin(tmp_path / 'file' / 'bag', TOPICS)
    assert bags.told == [bags.summary]
    assert not bags.is_open
    assert bags.begin(tmp_path / 'bag', TOPICS)
    assert bags.error == ''


def test_disk_that_refuses_is_told_once_and_later_messages_are_counted(
    bags, tmp_path, monkeypatch
):
    bags.begin(tmp_path / 'bag', TOPICS)

    def refuse(file, data):
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(bag_parts._DiskFile, 'write', refuse)
    for _ in range(3):
        bags.write('/words', bytes(2_000_000))
    assert len(bags.told) == 1
    assert bags.summary.startswith('recording stopped: No space left on device')
    assert bags.numbers()['lost'] == 2
    bags.end()
    assert bags.error


def test_the_next_folder_is_free_and_without_a_name_it_is_one_of_a_run(tmp_path):
    assert next_directory(str(tmp_path / 'new')) == tmp_path / 'new'
    (tmp_path / 'new').mkdir()
    (tmp_path / 'new_2').mkdir()
    assert next_directory(str(tmp_path / 'new')) == tmp_path / 'new_3'
    assert next_directory('').parts[0] == 'runs'
    assert next_directory('').name == 'bag'
