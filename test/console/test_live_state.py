"""What the page is told: plan, control, safety, curves, ages, and whether the graph lives."""

import json

import numpy as np
import pytest

from structrl_ros.console.history import KEPT
from structrl_ros.console.history import Cursor
from structrl_ros.console.live_state import SILENT_S
from structrl_ros.console.live_state import LiveState
from structrl_ros.types import ActionChunk
from structrl_ros.types import Episode
from structrl_ros.types import Intervention
from structrl_ros.types import Plan
from structrl_ros.types import Progress
from structrl_ros.types import Reward
from structrl_ros.types import Safety
from structrl_ros.types import SafetyState
from structrl_ros.types import Subtask
from structrl_ros.types import SubtaskStatus
from structrl_ros.types import Verdict

SECOND = 1_000_000_000
OPEN = Subtask('open(box)', 'open box', 'open', ('box',), 0)
GRASP = Subtask('grasp(apple)', 'grasp apple', 'grasp', ('apple',), 0)
PLACE = Subtask('place(apple)', 'place apple', 'place', ('apple',), 1)
PLAN = Plan(2 * SECOND, 1, 'pack', (OPEN, GRASP, PLACE), 'because', 'rules')
ACTIONS = np.zeros((1, 7), np.float32)


class Clock:
    now_s = 100.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def state(clock):
    return LiveState(clock)


def document(state, cursor=None):
    told, _ = state.document(cursor or Cursor())
    json.dumps(told, allow_nan=False)
    return told


def episode(number, stamp_ns=2 * SECOND, *, ended=False):
    return Episode(stamp_ns, number, ended, 'twin', 'pack', 'pack it', 3, 1, ended, 'success')


def reward(chunk, value=0.5):
    stamp_ns = (2 + chunk) * SECOND
    return Reward(stamp_ns, 1, chunk, value, (('open', value), ('x', 0.0)), 1.5, False, False)


def verdict(done, *, stop=False):
    return Verdict(5 * SECOND, 1, 0, 'open(box)', done, 0.9, 0.01, 'predicates', stop)


def test_before_anything_was_heard_there_is_a_whole_document(state):
    told = document(state)
    assert told['plan'] is told['safety'] is told['episode'] is None
    assert told['graph']['state'] == 'absent'
    assert told['control']['who'] == 'nobody'


def test_subtasks_are_done_current_blocked_or_open_by_the_status_of_this_revision(state):
    state.take(PLAN)
    status = SubtaskStatus(
        3 * SECOND, 1, 1, 1, GRASP.id, (OPEN.id,), (GRASP.id, PLACE.id), (PLACE.id,)
    )
    state.take(status)
    steps = document(state)['plan']['subtasks']
    assert [s['state'] for s in steps] == ['done', 'current', 'blocked']
    state.take(Plan(4 * SECOND, 2, 'pack', (GRASP, PLACE)))
    assert {s['state'] for s in document(state)['plan']['subtasks']} == {'open'}


def test_who_is_in_control_follows_stop_takeover_hold_and_source(state):
    chunk = ActionChunk(SECOND, 1, 4, 'expert', 'ee_delta_pose', 0.05, ACTIONS)
    state.take(chunk)
    state.take(Safety(SECOND, SafetyState.OK, ''))
    assert document(state)['control']['who'] == 'scripted expert'
    state.take(Intervention(SECOND, 1, True, 'spacemouse', ACTIONS[0]))
    control = document(state)['control']
    assert (control['who'], control['text'], control['takeover']) == (
        'operator',
        'spacemouse',
        True,
    )
    state.take(Safety(SECOND, SafetyState.EMERGENCY, 'button'))
    assert document(state)['control']['who'] == 'nobody'
    assert document(state)['safety'] == {
        'state': 'emergency',
        'reason': 'button',
        'latched': True,
    }
    state.take(Intervention(SECOND, 1, False, 'spacemouse', ACTIONS[0]))
    state.take(Safety(SECOND, SafetyState.HOLD, 'no chunk'))
    told = document(state)
    assert told['control']['text'] == 'holding position'
    assert not told['safety']['latched']


def test_a_viewer_gets_each_entry_of_the_curves_once(state):
    state.take(episode(1))
    state.take(reward(1))
    first, cursor = state.document(Cursor())
    assert first['log']['restart']
    assert first['log']['rewards'] == [
        {'t': 1.0, 'value': 0.5, 'total': 1.5, 'terms': [['open', 0.5]]}
    ]
    state.take(reward(2))
    state.take(Progress(3 * SECOND, 1, 8, 0, 0, 0, False, 0.25, 0.0, 0.1, True))
    state.take(Progress(4 * SECOND, 1, 9, 0, 0, 0, False, 0.75, 0.0, 0.1, False))
    second, cursor = state.document(cursor)
    assert not second['log']['restart']
    assert [r['t'] for r in second['log']['rewards']] == [2.0]
    assert second['log']['potentials'] == [{'t': 1.0, 'value': 0.25}]
    third, _ = state.document(cursor)
    assert third['log']['rewards'] == third['log']['potentials'] == []


def test_another_episode_starts_the_curves_anew_and_its_end_does_not(state):
    state.take(episode(1))
    state.take(reward(1))
    _, cursor = state.document(Cursor())
    state.take(episode(1, 9 * SECOND, ended=True))
    ended, cursor = state.document(cursor)
    assert not ended['log']['restart']
    assert ended['episode']['ended']
    state.take(episode(2, 10 * SECOND))
    began, _ = state.document(cursor)
    assert began['log']['restart']
    assert began['log']['rewards'] == []


def test_only_verdicts_that_decide_are_listed_and_the_newest_is_shown(state):
    state.take(verdict(True))
    state.take(verdict(False, stop=True))
    state.take(verdict(False))
    told = document(state)
    assert [(v['done'], v['stop']) for v in told['log']['verdicts']] == [
        (True, False),
        (False, True),
    ]
    assert not told['verdict']['done']


def test_the_curves_are_bounded_and_a_late_viewer_gets_what_is_kept(state):
    state.take(episode(1))
    for chunk in range(KEPT + 10):
        state.take(reward(chunk))
    late, cursor = state.document(Cursor())
    assert len(late['log']['rewards']) == KEPT
    assert late['log']['rewards'][0]['t'] == 10.0
    state.take(reward(KEPT + 10))
    assert len(state.document(cursor)[0]['log']['rewards']) == 1


def test_a_body_that_falls_silent_is_told_with_its_age_and_one_that_is_gone_is_told_so(
    state, clock
):
    state.look_around({'body': True}, {}, ('head',))
    state.take_health('sim_node: body', 0, 'real-time factor 1.00')
    assert document(state)['graph']['state'] == 'alive'
    clock.now_s += SILENT_S + 1
    state.take_health('planner_node: monitor', 0, 'no body')  # the brain alone is no body
    graph = document(state)['graph']
    assert graph['state'] == 'silent'
    assert graph['age_s'] == pytest.approx(SILENT_S + 1)
    state.look_around({'body': False}, {}, ())
    graph = document(state)['graph']
    assert graph['state'] == 'absent'
    assert 'has gone' in graph['text']


def test_a_camera_that_has_gone_stays_so_that_its_last_picture_is_shown_as_old(state):
    state.look_around({'body': True}, {}, ('left_wrist', 'head'))
    state.look_around({'body': False}, {}, ())
    assert document(state)['roles'] == ('head', 'left_wrist')


def test_everything_has_its_age(state, clock):
    state.take(PLAN)
    state.take_health('sim_node: body', 1, 'slow')
    clock.now_s += 2.5
    told = document(state)
    assert told['ages_s']['plan'] == 2.5
    assert told['health'] == [{'name': 'sim_node: body', 'level': 1, 'text': 'slow', 'age_s': 2.5}]


def test_the_version_rises_with_what_is_new_and_not_otherwise(state):
    state.look_around({'body': True}, {'run': ''}, ())
    before = state.version
    state.look_around({'body': True}, {'run': ''}, ())
    assert state.version == before
    state.look_around({'body': True}, {'run': 'no planner'}, ())
    assert state.version > before
