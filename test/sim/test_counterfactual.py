"""Claims of counterfactual pictures: each operator does what Appendix A says, and nothing else."""

import numpy as np
import pytest

mujoco = pytest.importorskip('mujoco')

from structrl_ros.errors import ParameterError  # noqa: E402
from structrl_ros.progress.manipulation import Primitive  # noqa: E402
from structrl_ros.progress.manipulation import parse_manipulation  # noqa: E402
from structrl_ros.progress.operators import Edit  # noqa: E402
from structrl_ros.progress.operators import Operator  # noqa: E402
from structrl_ros.sim.counterfactual.negative import CORRIDOR_M  # noqa: E402
from structrl_ros.sim.counterfactual.stage import LEAST_CHANGE  # noqa: E402
from structrl_ros.sim.counterfactual.stage import CounterfactualStage  # noqa: E402
from structrl_ros.sim.counterfactual.stage import changed_share  # noqa: E402
from structrl_ros.sim.kinematic.body import KinematicBody  # noqa: E402
from structrl_ros.sim.tabletop.body import TabletopBody  # noqa: E402
from structrl_ros.training.source_trajectory import find_phases  # noqa: E402

pytestmark = pytest.mark.sim

TARGET = 'lemon_1'
ROLES = ('head', 'left_wrist')


@pytest.fixture(scope='module')
def scene():
    """Return a body, its stage and the takes of an expert's episode, every second step."""
    body = TabletopBody()
    info = body.reset('two_in_basket', 0, 1)
    states = [body.simulator_state()]
    for _ in range(info.horizon_steps):
        success = body.step(body.expert_action()).success
        states.append(body.simulator_state())
        if success:
            break
    for _ in range(6):
        body.step(body.hold_action())
        states.append(body.simulator_state())
    stage = CounterfactualStage(body, 96)
    yield body, stage, [stage.look(state) for state in states[::2]]
    stage.close()
    body.close()


@pytest.fixture
def frames(scene):
    """Return frames before the target's grasp, in the hand, and after its release."""
    held = [i for i, take in enumerate(scene[2]) if take.held == TARGET]
    return held[0] - 2, held[len(held) // 2], held[-1] + 2


def edited(scene, operator, seed=1, protected=frozenset({TARGET, 'cheese_1'})):
    _, stage, takes = scene
    start = 0 if operator.is_persistent else 1
    edit = Edit(operator, Primitive.GRASP_LIFT, start, len(takes), len(takes))
    return stage.edits(takes, edit, TARGET, protected, seed)


def poses(scene, made, frame):
    """Return the scratch poses of the movables and the tool after an edit of a frame."""
    made.render(frame, 'head')
    stage = scene[1]
    data = stage._data
    found = {name: stage.handles.pose(data, name)[:3] for name in stage.handles.movable}
    return found | {'tool': data.site_xpos[stage.handles.site].copy()}


def recorded(scene, frame):
    _, stage, takes = scene
    _, data = stage._begin(takes[frame])
    found = {name: stage.handles.pose(data, name)[:3] for name in stage.handles.movable}
    mujoco.mj_kinematics(stage._model, data)
    return found | {'tool': data.site_xpos[stage.handles.site].copy()}


def test_unedited_picture_is_the_bodys_own(scene):
    _, stage, takes = scene
    own = TabletopBody(image_size=96)
    own.reset('two_in_basket', 0, 1)
    own.set_simulator_state(takes[7].state)
    for role in ROLES:
        assert np.array_equal(stage.render(takes[7], role), own.render(role))
    own.close()


@pytest.mark.parametrize('operator', list(Operator))
def test_edit_is_seen_is_repeatable_and_leaves_the_body_as_it_was(scene, frames, operator):
    body, stage, takes = scene
    frame = frames[2]
    made, again = edited(scene, operator), edited(scene, operator)
    seen = 0.0
    for role in ROLES:
        picture = made.render(frame, role)
        assert np.array_equal(picture, again.render(frame, role))
        seen = max(seen, changed_share(stage.render(takes[frame], role), picture))
        assert picture.std() > 5
    assert LEAST_CHANGE <= seen < 0.9
    assert np.array_equal(body.simulator_state(), takes[frame].state)
    for name, looks in stage._looks.items():
        assert np.array_equal(getattr(body.model, name), looks)


@pytest.mark.parametrize('operator', list(Operator))
def test_arm_and_other_things_stay_where_they_were(scene, frames, operator):
    made = edited(scene, operator)
    for frame in frames:
        got, want = poses(scene, made, frame), recorded(scene, frame)
        assert np.array_equal(got['tool'], want['tool'])
        assert np.array_equal(got['cheese_1'], want['cheese_1'])
        if not operator.is_negative or operator == Operator.TARGET_REPLACEMENT:
            assert np.array_equal(got[TARGET], want[TARGET])


def test_empty_grasp_takes_the_target_out_of_the_corridor_for_good(scene, frames):
    made = edited(scene, Operator.EMPTY_GRASP)
    first = recorded(scene, 0)[TARGET]
    for frame in frames:
        got = poses(scene, made, frame)
        assert np.linalg.norm(got[TARGET][:2] - got['tool'][:2]) >= CORRIDOR_M - 1e-9
        assert got[TARGET][2] == pytest.approx(first[2], abs=0.005)
    after = poses(scene, made, frames[2])[TARGET]
    assert np.allclose(after, first, atol=1e-9)


def test_wrong_object_puts_something_else_where_the_target_was(scene, frames):
    _, stage, takes = scene
    wrong, empty = edited(scene, Operator.WRONG_OBJECT), edited(scene, Operator.EMPTY_GRASP)
    for frame in frames[:2]:
        got = poses(scene, wrong, frame)
        assert np.linalg.norm(got[TARGET][:2] - got['tool'][:2]) >= CORRIDOR_M - 1e-9
        with_it, without = wrong.render(frame, 'left_wrist'), empty.render(frame, 'left_wrist')
        assert changed_share(with_it, without) > LEAST_CHANGE
        assert changed_share(with_it, stage.render(takes[frame], 'left_wrist')) > LEAST_CHANGE


def test_non_release_keeps_the_target_in_the_hand(scene, frames):
    made = edited(scene, Operator.NON_RELEASE)
    carried = recorded(scene, frames[1])
    offset = np.linalg.norm(carried[TARGET] - carried['tool'])
    got, want = poses(scene, made, frames[2]), recorded(scene, frames[2])
    assert np.linalg.norm(got[TARGET] - got['tool']) == pytest.approx(offset, abs=0.01)
    assert np.linalg.norm(want[TARGET] - want['tool']) > offset
    held = poses(scene, made, frames[1])
    assert np.array_equal(held[TARGET], carried[TARGET])


def test_colours_of_what_the_task_is_about_are_left_alone(scene):
    made = edited(scene, Operator.NON_TARGET_COLOUR)
    made.render(3, 'head')
    stage = scene[1]
    for name in (TARGET, 'cheese_1'):
        for geom in stage.handles.drawn_geoms(name):
            material = stage._model.geom_matid[geom]
            assert material == stage.handles.model.geom_matid[geom]
            assert np.array_equal(
                stage._model.mat_rgba[material], stage._looks['mat_rgba'][material]
            )


def test_what_cannot_be_edited_is_one_line(scene):
    _, stage, takes = scene
    edit = Edit(Operator.EMPTY_GRASP, Primitive.GRASP_LIFT, 4, 9, len(takes))
    with pytest.raises(ParameterError, match=r"target 'basket'; allowed: cheese_1, lemon_1"):
        stage.edits(takes, edit, 'basket', frozenset(), 0)
    made = stage.edits(takes, edit, TARGET, frozenset(), 0)
    with pytest.raises(ParameterError, match='frame 9; allowed: 4 to 8, which empty_grasp edits'):
        made.render(9, 'head')
    with pytest.raises(ParameterError, match="body 'kinematic'; allowed: libero, tabletop"):
        CounterfactualStage(KinematicBody())


def test_phases_follow_the_events(scene):
    takes = scene[2]
    phases = find_phases(takes, 'two_in_basket')
    assert len(phases) == len(takes)
    order = list(dict.fromkeys((p.target, p.primitive) for p in phases))
    grasp, place = Primitive.GRASP_LIFT, Primitive.PLACE_TRANSFER
    assert order == [
        ('cheese_1', grasp),
        ('cheese_1', place),
        (TARGET, grasp),
        (TARGET, place),
    ]
    for take, phase in zip(takes, phases, strict=True):
        if take.held:
            assert (phase.target, phase.primitive) == (take.held, place)
        assert not (phase.is_release and take.held == phase.target)
    assert any(phase.is_release for phase in phases)
    assert parse_manipulation('put both the cheese and the lemon in the basket').has_many_objects
