"""The journal of finished episodes: on the disk at once, whole lines alone."""

import os

import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.training.journal import append_line
from structrl_ros.training.journal import read_journal


def test_documents_come_back_line_by_line(tmp_path):
    place = tmp_path / 'episodes.jsonl'
    assert read_journal(place, dict) == ([], None)
    with place.open('ab', buffering=0) as file:
        append_line(file.fileno(), place, {'number': 0})
        append_line(file.fileno(), place, {'number': 1})
    assert read_journal(place, dict) == ([{'number': 0}, {'number': 1}], None)


def test_a_line_that_was_cut_short_does_not_count_and_where_it_begins_is_told(tmp_path):
    place = tmp_path / 'episodes.jsonl'
    place.write_bytes(b'{"number": 0}\n{"num')
    records, length = read_journal(place, dict)
    assert records == [{'number': 0}]
    assert length is not None
    os.truncate(place, length)
    assert place.read_bytes() == b'{"number": 0}\n'


def test_a_line_that_is_no_record_is_named_by_its_number(tmp_path):
    place = tmp_path / 'episodes.jsonl'
    place.write_bytes(b'{"number": 0}\n{"num\n')
    with pytest.raises(ParameterError, match=r'episodes\.jsonl, line 2: '):
        read_journal(place, dict)


def test_a_full_disk_is_one_line_with_the_path(tmp_path):
    place = tmp_path / 'episodes.jsonl'
    file = os.open('/dev/full', os.O_WRONLY)
    try:
        with pytest.raises(ParameterError, match=r'episodes\.jsonl: No space left'):
            append_line(file, place, {'number': 0})
    finally:
        os.close(file)
