"""Gap counting: holes are counted, late joins, restarts and new episodes are not."""

from structrl_ros.recording.gaps import GapCounter


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
