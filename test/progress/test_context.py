"""Claims of contexts: layouts of Eq. 3, where history may come from, what one frame costs."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.progress import strip as strip_module
from structrl_ros.progress.context import EditedFrame
from structrl_ros.progress.context import Provenance
from structrl_ros.progress.context import Query
from structrl_ros.progress.context import Rollout
from structrl_ros.progress.context import SourceEpisode
from structrl_ros.progress.context import SourceFrame
from structrl_ros.progress.panels import PADDING
from structrl_ros.progress.panels import panel_indices
from structrl_ros.progress.prompt import make_prompt
from structrl_ros.progress.strip import Layout
from structrl_ros.progress.views import PADDING_LEVEL
from structrl_ros.progress.views import make_views
from structrl_ros.progress.views import resize_area

LAYOUT = Layout(cell_px=2, grid=2)
STATIC = Layout(pre_panels=0, between_panels=0, cell_px=2)


def views(level, roles=('head',), size=4):
    image = np.full((size, size, 3), level, np.uint8)
    return make_views(dict.fromkeys(roles, image), 4)


def episode(total=6, layout=LAYOUT, name='a', level=0):
    frames = [SourceFrame(name, i, views(level + i)) for i in range(total)]
    return SourceEpisode(frames, layout)


def levels(panels):
    """Return the level of each cell, `PADDING_LEVEL` where it is empty."""
    return panels.images[:, ::2, ::2, 0].reshape(len(panels.images), -1).tolist()


@given(st.integers(0, 11), st.integers(0, 11))
def test_panels_show_the_frames_that_the_golden_cases_fix(t_before, t_after):
    query = episode(12).expert_query(t_before, t_after)
    want = panel_indices(t_before, t_after, pre_panels=1, between_panels=1, grid=2)
    for panels, indices in ((query.pre, want.before), (query.between, want.between)):
        shown = np.where(indices == PADDING, PADDING_LEVEL, indices)
        assert levels(panels) == shown.tolist()
        assert panels.filled.tolist() == (indices != PADDING).tolist()
    assert (query.before.images[0] == t_before).all()
    assert (query.after.images[0] == t_after).all()
    assert (query.start.images[0] == 0).all()
    assert (query.goal.images[0] == 11).all()
    assert query.provenance is Provenance.EXPERT


def test_static_layout_has_no_panels():
    query = episode(layout=STATIC).expert_query(1, 4)
    assert query.pre.images.shape[0] == query.between.images.shape[0] == 0
    assert query.pre.count == query.between.count == 0


def test_edited_endpoints_get_panels_of_the_source_alone():
    source = episode(6)
    edited = EditedFrame(source.frames[4], 'empty_grasp', views(204))
    query = source.reference_query(source.frames[1], edited)
    assert (query.after.images[0] == 204).all()
    assert query.provenance is Provenance.REFERENCE
    expert = source.expert_query(1, 4)
    assert np.array_equal(query.pre.images, expert.pre.images)
    assert np.array_equal(query.between.images, expert.between.images)
    assert 204 not in (*query.pre.images.flat, *query.between.images.flat)


def test_panels_of_edited_frames_cannot_be_had():
    source = episode(6)
    edited = [EditedFrame(f, 'wrong_object', views(200 + f.index)) for f in source.frames]
    with pytest.raises(ParameterError, match='source frame 0 is EditedFrame; allowed: unedited'):
        SourceEpisode(edited, LAYOUT)
    with pytest.raises(ParameterError, match='source frame 3 is EditedFrame'):
        SourceEpisode([*source.frames[:3], edited[3], *source.frames[4:]], LAYOUT)
    with pytest.raises(ParameterError, match="endpoint of 'a' 4; allowed: 'b' 0 to 5"):
        episode(name='b').reference_query(edited[4], edited[5])
    with pytest.raises(ParameterError, match='no endpoint is edited; allowed: expert_query'):
        source.reference_query(source.frames[0], source.frames[1])


def test_query_cannot_be_made_nor_changed_by_hand():
    query = episode().expert_query(0, 3)
    other = episode(level=100).expert_query(0, 3)
    fields = {f.name: getattr(query, f.name) for f in dataclasses.fields(Query)}
    with pytest.raises(ParameterError, match='query without provenance; allowed: SourceEpisode'):
        Query(**{**fields, 'seal': object()})
    with pytest.raises(dataclasses.FrozenInstanceError):
        query.between = other.between
    with pytest.raises(ValueError, match='read-only'):
        query.after.images[:] = 7


def test_source_is_one_episode_in_order():
    frames = list(episode().frames)
    with pytest.raises(ParameterError, match="source frame 1 is 'a' 2; allowed: 'a' 1"):
        SourceEpisode([frames[0], frames[2]], LAYOUT)
    with pytest.raises(ParameterError, match='source of 1 frames; allowed: 2 and more'):
        SourceEpisode(frames[:1], LAYOUT)
    with pytest.raises(ParameterError, match='frame 6; allowed: 0 to 5'):
        episode().expert_query(0, 6)


def grow(count, goal=None, layout=LAYOUT):
    rollout = Rollout(layout, goal)
    for i in range(count):
        rollout.observe(i, views(i))
    return rollout


@given(st.integers(2, 20))
def test_online_queries_hold_the_past_alone(count):
    rollout = grow(count, views(250))
    newest = count - 1
    forward, step = rollout.forward(), rollout.incremental()
    assert forward.pre.count == step.between.count == 0
    for query in (forward, step):
        shown = [n for p in (query.pre, query.between) for row in levels(p) for n in row]
        assert all(level < newest or level == PADDING_LEVEL for level in shown)
        assert (query.after.images[0] == newest).all()
        assert (query.start.images[0] == 0).all()
        assert query.provenance is Provenance.ROLLOUT
    backward = rollout.backward()
    assert backward.pre.count == backward.between.count == 0
    assert (backward.before.images[0] == 250).all()


def test_online_query_of_a_future_frame_cannot_be_had():
    rollout = grow(4)
    for since in (3, 4, 9, -1):
        with pytest.raises(
            ParameterError, match=f'from observation {since} of 4; allowed: 0 to 2'
        ):
            rollout.incremental(since)
    with pytest.raises(ParameterError, match='frame of 3 ns; allowed: after 3 ns'):
        rollout.observe(3, views(9))
    query = rollout.forward()
    kept = query.between.images.copy()
    rollout.observe(10, views(99))
    assert np.array_equal(query.between.images, kept)


def test_frames_between_two_queries_are_between_them():
    query = grow(8).incremental(since=3)
    assert levels(query.pre) == [[0, 1, 2, PADDING_LEVEL]]
    assert levels(query.between) == [[4, 5, 6, PADDING_LEVEL]]


def test_no_goal_no_backward_query():
    with pytest.raises(ParameterError, match='backward query without a goal image'):
        grow(3).backward()
    with pytest.raises(ParameterError, match='query from observation 0 of 1'):
        grow(1).forward()


def test_one_more_frame_costs_one_cell(monkeypatch):
    made = []

    def count(image, height, width):
        made.append(height)
        return resize_area(image, height, width)

    rollout = grow(40, views(250))
    monkeypatch.setattr(strip_module, 'resize_area', count)
    rollout.observe(100, views(40))
    for query in (rollout.forward, rollout.incremental, rollout.backward):
        query()
    assert made == [LAYOUT.cell_px]


def test_missing_views_are_padded_and_masked():
    got = views(9, roles=('head', 'right_wrist'), size=7)
    assert got.available.tolist() == [True, False, True]
    assert (got.images[1] == PADDING_LEVEL).all()
    assert (got.images[2] == 9).all()
    with pytest.raises(
        ParameterError, match=r"views of \['tail'\]; allowed: at least one of head"
    ):
        make_views({'tail': np.zeros((4, 4, 3), np.uint8)}, 4)
    with pytest.raises(ParameterError, match=r'image of shape \(4, 4\) and type uint8'):
        make_views({'head': np.zeros((4, 4), np.uint8)}, 4)


def test_smaller_images_are_means_larger_ones_are_nearest():
    image = np.arange(16, dtype=np.uint8).reshape(4, 4, 1).repeat(3, axis=2)
    assert resize_area(image, 2, 2)[..., 0].tolist() == [[2, 4], [10, 12]]
    assert resize_area(image, 1, 4)[..., 0].tolist() == [[6, 7, 8, 9]]
    assert np.array_equal(resize_area(image, 8, 8)[::2, ::2], image)
    with pytest.raises(ParameterError, match='image size 0 x 4'):
        resize_area(image, 0, 4)


def test_prompt_counts_what_is_really_there():
    three = ('head', 'left_wrist', 'right_wrist')
    rollout = Rollout(LAYOUT, views(250, three))
    for i in range(4):
        rollout.observe(i, views(i, three))
    forward = make_prompt('open the box', rollout.forward())
    assert [int(image.flat[0]) for image in forward.images] == [0, 250, 0, 0, 0, 1, 3, 3, 3]
    assert 'History between BEFORE and AFTER, 1 panel: image 6.' in forward.text
    assert 'History before' not in forward.text
    assert 'AFTER, head and left wrist and right wrist: images 7 to 9.' in forward.text
    static = make_prompt('open the box', rollout.backward())
    assert len(static.images) == 8
    assert 'panel:' not in static.text
    assert forward.text.splitlines()[1] == 'Task: open the box'
