"""The closed-loop suite on the tabletop: planners, causes, what is seen wrongly, resuming."""

import dataclasses
import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.evaluation.closed_loop import is_satisfied
from structrl_ros.naming import fold
from structrl_ros.ontology import FIXTURES
from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.rules import RulePlanner
from structrl_ros.sim.registry import make_body
from structrl_ros.sim.registry import make_expert
from structrl_ros.training.closed_loop_control import NoisyPolicy
from structrl_ros.training.closed_loop_planners import Misperception
from structrl_ros.training.closed_loop_planners import ReferencePlanner
from structrl_ros.training.closed_loop_planners import WatchedPlanner
from structrl_ros.training.closed_loop_planners import draw_misperception
from structrl_ros.training.closed_loop_player import LoopPlayer
from structrl_ros.training.closed_loop_player import LoopSettings
from structrl_ros.training.closed_loop_run import LoopFolder
from structrl_ros.training.closed_loop_suite import read_suite
from structrl_ros.training.episode_brain import rule_minds
from structrl_ros.types import Judgement
from structrl_ros.types import PlanRequest

pytestmark = [pytest.mark.sim, pytest.mark.filterwarnings('ignore::DeprecationWarning')]

SUITE = read_suite()
BY_NAME = {i.name: i for i in SUITE.instructions}
FRUIT, LUNCH = BY_NAME['fruit'], BY_NAME['lunch']
TABLE = ('apple', 'orange', 'green ball', 'red block', 'basket')


class Says:
    """A planner that always gives the same text, or fails."""

    name = 'says'

    def __init__(self, text=None, error=None):
        self._text, self._error = text, error

    def propose(self, request):
        if self._error is not None:
            raise self._error
        return self._text


class AlwaysDone:
    """A monitor that says True at once."""

    name = 'always'

    def verify(self, subtask, start, now):
        return Judgement(True, 1.0)


@pytest.fixture(scope='module')
def player():
    made = LoopPlayer(lambda body: make_expert(body, chunk_length=8), LoopSettings(), ())
    yield made
    made.close()


def played(player, planner, instruction=FRUIT, **changes):
    return player.play(instruction, 0, 'tried', replace(rule_minds(), planner=planner, **changes))


def test_ten_instructions_of_five_kinds_on_two_bodies():
    assert len(SUITE.instructions) == 10
    assert {i.kind for i in SUITE.instructions} == {
        'category', 'shape', 'colour', 'wish', 'preference',
    }  # fmt: skip
    assert [i.body for i in SUITE.instructions].count('libero') == 5


@pytest.mark.parametrize(
    'name', [i.name for i in SUITE.instructions if i.body == 'tabletop' and i.name != 'fruit']
)
def test_true_plans_and_goals_are_of_their_scene(name):
    instruction = BY_NAME[name]
    body = make_body('tabletop')
    info = body.reset(instruction.task, 0, 0)
    body.close()
    assert not is_satisfied(instruction.plans, dict.fromkeys(info.predicate_names, False))
    for plan in instruction.plans:
        assert parse_plan('\n'.join(plan.phrases), objects=info.objects).steps


def test_rules_and_the_reference_put_the_fruit_in_the_basket(player):
    for planner in (RulePlanner(), ReferencePlanner(FRUIT)):
        record = played(player, planner)
        assert record.success
        assert record.plan_is_right
        assert (record.steps_done, record.steps, record.cause) == (4, 4, '')


def test_a_wish_is_refused_by_rules_and_that_is_reasoning(player):
    record = played(player, RulePlanner(), LUNCH)
    assert (record.answer, record.cause, record.record.end) == ('refused', 'reasoning', 'no_plan')


def test_the_sentence_alone_is_no_skill_of_the_expert(player):
    record = player.play(FRUIT, 0, 'none', None)
    assert not record.success
    assert record.cause == ''
    assert record.record.end == 'policy_error'
    assert 'no skill' in record.record.reason


def test_a_wrong_thing_in_the_basket_is_no_success_and_reasoning(player):
    steps = [*FRUIT.plans[0].phrases, 'grasp red block', 'place red block in basket']
    record = played(player, Says('\n'.join(steps)))
    assert not record.success
    assert (record.steps_done, record.plan_is_right, record.cause) == (4, False, 'reasoning')


def test_text_that_is_no_plan_and_a_planner_that_is_down_are_other(player):
    prose = played(player, Says('I would rather not.'))
    down = played(player, Says(error=PlannerUnavailableError('nobody answers')))
    assert (prose.answer, prose.cause) == ('unreadable', 'other')
    assert (down.answer, down.cause) == ('down', 'other')


def test_verdicts_that_are_not_true_are_perception(player):
    record = played(player, ReferencePlanner(FRUIT), monitor=AlwaysDone(), follow=lambda s: None)
    assert not record.success
    assert record.lies > 0
    assert (record.plan_is_right, record.cause) == (True, 'perception')


def test_a_thing_that_is_missing_for_the_planner_is_perception(player, monkeypatch):
    monkeypatch.setattr(
        'structrl_ros.training.closed_loop_player.draw_misperception',
        lambda *drawn: Misperception('orange', ''),
    )
    record = played(player, RulePlanner())
    assert record.seen == 'orange missing'
    assert (record.steps_done, record.plan_is_right, record.cause) == (2, False, 'perception')


def test_a_misnamed_thing_is_moved_where_its_wrong_name_belongs(player, monkeypatch):
    monkeypatch.setattr(
        'structrl_ros.training.closed_loop_player.draw_misperception',
        lambda *drawn: Misperception('red block', 'banana'),
    )
    record = played(player, RulePlanner())
    assert record.plan[-1] == 'place red block in basket'
    assert (record.success, record.cause) == (False, 'perception')


def test_a_refusal_of_the_true_scene_too_is_not_blamed_on_the_eyes():
    watched = WatchedPlanner(RulePlanner(), Misperception('apple', ''))
    with pytest.raises(Exception, match='no known verb'):
        watched.propose(PlanRequest('make me happy', TABLE, None))
    assert (watched.answer, watched.refuses_truth) == ('refused', True)


def test_misperceptions_are_of_movable_things_at_their_rate_and_repeat():
    drawn = [draw_misperception(TABLE, 0.3, ('fruit', k)) for k in range(400)]
    hit = [m for m in drawn if m is not None]
    assert 80 < len(hit) < 160
    assert drawn == [draw_misperception(TABLE, 0.3, ('fruit', k)) for k in range(400)]
    assert all(fold(m.thing).split()[-1] not in FIXTURES for m in hit)
    assert all(m.called not in TABLE for m in hit)
    assert {m.called == '' for m in hit} == {True, False}


def test_noise_is_of_the_scene_and_makes_control_fail():
    settings, minds = LoopSettings(), replace(rule_minds(), planner=ReferencePlanner(FRUIT))
    short = dataclasses.replace(settings, time_limit_s=4.0)

    def trembling(body):
        return NoisyPolicy(make_expert(body, chunk_length=8), 0.5)

    records = []
    for _ in range(2):
        player = LoopPlayer(trembling, short, ())
        records.append(player.play(FRUIT, 0, 'reference', minds))
        player.close()
    assert records[0] == records[1]
    assert (records[0].success, records[0].cause) == (False, 'control')


@pytest.mark.parametrize('change', [{'seed': -1}, {'misperception': 1.5}, {'time_limit_s': -1.0}])
def test_settings_that_are_none_are_refused(change):
    with pytest.raises(ParameterError, match='allowed'):
        LoopSettings(**change)


def test_a_suite_that_is_wrong_is_one_line(tmp_path):
    wrong = tmp_path / 'suite.yaml'
    wrong.write_text('version: 1\ninstructions: [{name: a}]\n')
    with pytest.raises(ParameterError, match=r'instructions\.0\.kind'):
        read_suite(wrong)
    with pytest.raises(ParameterError, match="instruction 'nothing'; known: fruit"):
        SUITE.select(['nothing'], [])


def test_two_processes_cannot_play_into_one_folder(tmp_path):
    first = LoopFolder(tmp_path / 'loop', {'seed': 0})
    with pytest.raises(ParameterError, match='is in use by another process'):
        LoopFolder(tmp_path / 'loop', {'seed': 0})
    first.close()
    with pytest.raises(ParameterError, match='was begun with seed 0, now 1'):
        LoopFolder(tmp_path / 'loop', {'seed': 1})
    LoopFolder(tmp_path / 'loop', {'seed': 0}).close()  # a refusal holds nothing


def test_the_command_goes_on_where_it_was_and_refuses_other_settings(tmp_path):
    words = ['evaluate', 'closed-loop', '--only', 'fruit', '--episodes', '1', '--out']
    out = tmp_path / 'loop'
    first = CliRunner().invoke(app, [*words, str(out), '--planner', 'none'])
    assert first.exit_code == 0, first.output
    both = CliRunner().invoke(app, [*words, str(out), '--planner', 'none', '--planner', 'rules'])
    assert both.exit_code == 0, both.output
    assert 'fruit 0 rules: success, 4 of 4 steps' in both.output
    assert 'fruit 0 none' not in both.output
    assert len((out / 'episodes.jsonl').read_text().splitlines()) == 2
    rows = json.loads((out / 'results.json').read_text())['rows']
    assert [(r['planner'], r['success']['count']) for r in rows] == [
        ('none', 0), ('none', 0), ('rules', 1), ('rules', 1),
    ]  # fmt: skip
    other = CliRunner().invoke(app, [*words, str(out), '--noise', '0.3'])
    assert other.exit_code != 0
    assert 'was begun with noise 0.0, now 0.3' in str(other.exception or other.output)
