"""Gap counting: holes are counted, late joins, restarts and new episodes are not."""

from structrl_ros.recording.gaps import GapCounter
from structrl_ros.recording.gaps import PublicationCounter


def test_holes_are_counted_by_topic():
    gaps = GapCounter()
    assert [gaps.see('reward', 1, k) for k in (1, 2, 5, 6)] == [0, 0, 2, 0]
    gaps.see('chunk_done', 1, 1)
    assert gaps.missing == {'reward': 2, 'chunk_done': 0} or gaps.missing == {'reward': 2}


def test_late_join_new_episode_and_repeat_are_no_gap():
    gaps = GapCounter()
    assert gaps.see('reward', 1, 40) == 0
    assert gaps.see('reward', 2, 1) == 0
    assert gaps.see('reward', 2, 1) == 0
    assert gaps.missing.total() == 0


def test_missing_publications_are_counted_while_one_publisher_is_there():
    counter = PublicationCounter()
    assert [counter.see('plan', n, 1) for n in (7, 8, 12)] == [0, 0, 3]
    assert counter.missing == {'plan': 3}


def test_second_publisher_restart_and_late_join_are_no_missing_publication():
    counter = PublicationCounter()
    assert [counter.see('plan', n, 1) for n in (40, 1, 2)] == [0, 0, 0]
    assert [counter.see('plan', n, 2) for n in (90, 3)] == [0, 0]
    assert counter.see('plan', 95, 1) == 0
    counter.forget('plan')
    assert counter.see('plan', 99, 1) == 0
    assert counter.missing.total() == 0
