"""Every branch of the state machine of REVER's Algorithm 1, driven by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PlannerUnavailableError
from structrl_ros.errors import PlanSyntaxError
from structrl_ros.errors import StaleDataError
from structrl_ros.plan.commands import AskMonitor
from structrl_ros.plan.commands import AskPlanner
from structrl_ros.plan.commands import ExecutiveSettings
from structrl_ros.plan.commands import Finish
from structrl_ros.plan.commands import Goal
from structrl_ros.plan.commands import PublishPlan
from structrl_ros.plan.commands import PublishVerdict
from structrl_ros.plan.commands import State
from structrl_ros.plan.executive import Executive
from structrl_ros.types import Judgement
from structrl_ros.types import Observation
from structrl_ros.types import Predicates

S = 1_000_000_000
TWO = '["grasp soup", "place soup in basket"]'
POTS = '\n'.join(['grasp moka pot', 'place moka pot on stove'] * 2)
YES, NO = Judgement(True, 0.9), Judgement(False, 0.2)


class Run:
    """Drives an executive and keeps every command."""

    def __init__(self, goal=None, text=TWO, **settings):
        self.executive = Executive(ExecutiveSettings(**settings), 'fake', 'eye')
        self.now = S
        self.commands = []
        self.do('start', goal or Goal('put the soup in the basket'), self.observation())
        if text is not None:
            self.plan(text)

    def observation(self, success=None):
        predicates = None
        if success is not None:
            predicates = Predicates(self.now, 1, 1, 1, (), (), success)
        return Observation(self.now, 1, predicates=predicates)

    def do(self, name, *arguments, **more):
        new = getattr(self.executive, name)(*arguments, **more, now_ns=self.now)
        self.commands += new
        return new

    def last(self, kind):
        return next(c for c in reversed(self.commands) if isinstance(c, kind))

    def plan(self, text):
        return self.do('plan_text', self.last(AskPlanner).number, text)

    def tick(self, seconds=0.2, success=None):
        self.now += round(seconds * S)
        return self.do('tick', self.observation(success))

    def judge(self, judgement=YES):
        return self.do('judged', self.last(AskMonitor).number, judgement, 0.01)

    def step(self, judgement=YES, success=None):
        self.tick(success=success)
        return self.judge(judgement)

    def fail_monitor(self, error):
        self.tick()
        return self.do('monitor_failed', self.last(AskMonitor).number, error, 0.1)

    def time_out(self):
        return self.tick(self.executive.settings.subtask_timeout_s)


def _kinds(commands):
    return [type(c) for c in commands]


def test_plan_is_executed_step_by_step_to_success():
    run = Run()
    first = run.last(PublishPlan).plan
    assert (first.revision, first.planner, len(first.subtasks)) == (1, 'fake', 2)
    assert run.executive.current.phrase == 'grasp soup'
    (verdict,) = run.step(NO)
    assert (verdict.verdict.done, verdict.verdict.index, verdict.verdict.monitor) == (
        False,
        0,
        'eye',
    )
    (verdict,) = run.step()
    assert (verdict.verdict.done, verdict.verdict.subtask_id) == (True, 'grasp(soup)')
    verdict, finish = run.step()
    assert (verdict.verdict.index, verdict.verdict.revision) == (1, 1)
    assert finish == Finish(True, 'all 2 steps verified')
    assert run.executive.state is State.DONE
    assert run.last(PublishPlan).plan is first


def test_second_step_is_judged_against_the_end_of_the_first():
    run = Run()
    run.step()
    end_of_first = run.now
    run.tick()
    asked = run.last(AskMonitor)
    assert asked.start.stamp_ns == end_of_first
    assert asked.now.stamp_ns == run.now
    assert asked.subtask.phrase == 'place soup in basket'


def test_no_second_call_while_the_monitor_is_thinking():
    run = Run()
    assert _kinds(run.tick()) == [AskMonitor]
    assert run.tick() == []
    run.judge(NO)
    assert _kinds(run.tick()) == [AskMonitor]


def test_late_answer_to_an_old_step_is_dropped():
    run = Run(attempts=1, subtask_timeout_s=5.0)
    run.tick()
    old = run.last(AskMonitor).number
    run.tick(5.0)
    assert run.executive.state is State.REPLANNING
    run.plan(TWO)
    assert run.do('judged', old, YES, 5.0) == []
    assert run.executive.current.phrase == 'grasp soup'
    assert run.do('monitor_failed', old, StaleDataError('x'), 5.0) == []


def test_answer_after_the_end_is_dropped():
    run = Run()
    run.tick()
    run.do('cancel')
    assert run.judge() == []
    assert run.plan(TWO) == []
    assert run.tick() == []
    assert run.do('episode_ended', True, 'success') == []
    assert run.do('cancel') == run.do('abort', 'x') == []


def test_time_out_tries_again_with_a_new_revision_of_what_is_left():
    run = Run(attempts=2)
    run.step()
    run.tick()
    stop, again = run.time_out()
    assert stop.verdict.stop
    assert not stop.verdict.done
    assert (stop.verdict.index, stop.verdict.revision) == (1, 1)
    assert again.plan.revision == 2
    assert [s.id for s in again.plan.subtasks] == ['place(soup, basket)']
    assert 'attempt 1 of 2' in again.plan.reasoning
    verdict, finish = run.step()
    assert (verdict.verdict.revision, verdict.verdict.index) == (2, 0)
    assert finish.success


def test_attempts_spent_ask_for_a_new_plan_with_the_failed_state():
    run = Run(attempts=2)
    run.step()
    run.time_out()
    stop, question = run.time_out()
    assert stop.verdict.stop
    failed = question.request.failed
    assert failed.plan.revision == 2
    assert failed.index == 0
    assert 'place soup in basket: not done within 15 s, attempt 2 of 2' in failed.reason
    assert question.request.observation.stamp_ns == run.now
    assert run.executive.state is State.REPLANNING
    assert run.executive.current is None
    (revision,) = run.plan('["grasp soup", "place soup in basket"]')
    assert revision.plan.revision == 3
    assert run.executive.replans == 1
    run.step()
    assert run.step()[-1].success


def test_replans_are_bounded():
    run = Run(attempts=1, replans=2)
    for _ in range(2):
        run.time_out()
        run.plan(TWO)
    stop, hold, finish = run.time_out()
    assert stop.verdict.stop
    assert hold.plan.subtasks == ()
    assert not finish.success
    assert 'after 2 replans, at step 1 of 2 (grasp soup)' in finish.reason
    assert run.executive.state is State.FAILED
    assert run.executive.shown_plan.subtasks


def test_retry_after_an_advance_counts_attempts_anew():
    run = Run(attempts=2)
    run.time_out()
    run.step()
    assert _kinds(run.time_out()) == [PublishVerdict, PublishPlan]


def test_replanned_step_keeps_its_number_within_the_task():
    run = Run(text=POTS, attempts=1)
    for _ in range(3):
        run.step()
    run.time_out()
    (revision,) = run.plan('["grasp moka pot", "place moka pot on stove"]')
    assert [s.id for s in revision.plan.subtasks] == [
        'grasp(moka pot)#2',
        'place(moka pot, stove)#2',
    ]


def test_dropped_thing_keeps_its_number_when_it_is_grasped_again():
    run = Run(text=POTS, attempts=1)
    run.step()
    run.time_out()
    (revision,) = run.plan(POTS)
    ids = [s.id for s in revision.plan.subtasks]
    assert ids[::2] == ['grasp(moka pot)', 'grasp(moka pot)#2']


def test_confirmations_need_that_many_observations_in_a_row():
    run = Run(confirmations=2)
    for judgement in (YES, NO, YES):
        (verdict,) = run.step(judgement)
        assert not verdict.verdict.done
    (verdict,) = run.step(YES)
    assert verdict.verdict.done
    assert run.executive.index == 1


def test_confirmations_of_one_observation_count_once():
    run = Run(confirmations=2)
    same = run.observation()
    for _ in range(3):
        run.do('tick', same)
        (verdict,) = run.judge()
        assert not verdict.verdict.done
    assert run.step()[0].verdict.done


def test_failed_call_breaks_the_row_of_confirmations():
    run = Run(confirmations=2)
    run.step()
    run.fail_monitor(StaleDataError('no image'))
    assert not run.step()[0].verdict.done
    assert run.step()[0].verdict.done


def test_flickering_monitor_ends_in_a_time_out_not_in_success():
    run = Run(confirmations=2, attempts=1, replans=0, subtask_timeout_s=4.0)
    while run.executive.state is State.EXECUTING:
        run.step(YES if round(run.now / S * 5) % 2 else NO)
    assert run.executive.state is State.FAILED
    assert 'not done within 4 s' in run.last(Finish).reason


def test_invalid_text_goes_back_with_the_exact_error_twice():
    run = Run(text=None)
    (second,) = run.plan('no plan at all')
    assert second.request.rejected[0][0] == 'no plan at all'
    with pytest.raises(PlanSyntaxError) as caught:
        from structrl_ros.plan.parse import parse_plan

        parse_plan('no plan at all')
    assert second.request.rejected[0][1] == str(caught.value)
    (third,) = run.plan('[]')
    assert len(third.request.rejected) == 2
    (finish,) = run.plan('["fly"]')
    assert 'fake gave no valid plan in 3 answers' in finish.reason
    assert 'unknown verb' in finish.reason
    assert not finish.success


def test_valid_text_after_two_invalid_ones_is_executed():
    run = Run(text=None)
    run.plan('x')
    run.plan('[]')
    assert _kinds(run.plan(TWO)) == [PublishPlan]


def test_invalid_replan_keeps_the_failed_attempt_in_the_question():
    run = Run(attempts=1)
    run.time_out()
    (again,) = run.plan('[]')
    assert again.request.failed is not None
    assert len(again.request.rejected) == 1


def test_plan_outside_the_scene_is_invalid_and_synonyms_are_not():
    goal = Goal('x', vocabulary=('porcelain mug', 'plate'))
    run = Run(goal, text=None)
    assert _kinds(run.plan('["grasp dragon"]')) == [AskPlanner]
    assert _kinds(run.plan('["grasp white mug", "place white mug on plate"]')) == [PublishPlan]


def test_planner_that_is_down_ends_the_task_with_its_reason():
    run = Run(text=None)
    number = run.last(AskPlanner).number
    (finish,) = run.do('plan_failed', number, PlannerUnavailableError('connection refused'))
    assert finish == Finish(False, 'planner fake gave no plan: connection refused')


def test_planner_that_is_down_while_replanning_leaves_the_arm_holding():
    run = Run(attempts=1)
    run.time_out()
    number = run.last(AskPlanner).number
    hold, finish = run.do('plan_failed', number, PlannerUnavailableError('HTTP 500'))
    assert hold.plan.subtasks == ()
    assert hold.plan.revision == 2
    assert 'HTTP 500' in finish.reason


def test_instruction_that_cannot_be_read_ends_with_what_is_in_the_scene():
    run = Run(text=None)
    error = PlanSyntaxError("'dragon' names nothing in the scene; in the scene: soup")
    (finish,) = run.do('plan_failed', run.last(AskPlanner).number, error)
    assert finish.reason == str(error)


def test_failure_of_an_old_question_is_dropped():
    run = Run(text=None)
    old = run.last(AskPlanner).number
    run.plan('[]')
    assert run.do('plan_failed', old, PlannerUnavailableError('late')) == []
    assert run.do('plan_text', old, TWO) == []


def test_monitor_that_is_down_ends_the_task_after_the_allowed_failures():
    run = Run(monitor_failures=3)
    for _ in range(2):
        (verdict,) = run.fail_monitor(PlannerUnavailableError('refused'))
        assert (verdict.verdict.done, verdict.verdict.confidence) == (False, 0.0)
    stop, _hold, finish = run.fail_monitor(PlannerUnavailableError('refused'))
    assert stop.verdict.stop
    assert 'monitor eye failed 3 times in a row: refused' in finish.reason


def test_answer_between_failures_resets_their_count():
    run = Run(monitor_failures=2)
    for _ in range(4):
        run.fail_monitor(PlannerUnavailableError('refused'))
        run.step(NO)
    assert run.executive.state is State.EXECUTING


def test_missing_data_only_costs_the_tick():
    run = Run(monitor_failures=1)
    for _ in range(5):
        assert _kinds(run.fail_monitor(StaleDataError('no image yet'))) == [PublishVerdict]
    assert run.executive.state is State.EXECUTING


def test_step_that_cannot_be_judged_leaves_the_plan():
    run = Run(text='["open drawer", "grasp soup"]')
    revision, asked = run.fail_monitor(ParameterError('no predicate tells of it'))
    assert revision.plan.revision == 2
    assert [s.phrase for s in revision.plan.subtasks] == ['grasp soup']
    assert 'no predicate tells of it' in revision.plan.reasoning
    assert asked.subtask.phrase == 'grasp soup'
    assert run.judge()[-1].success


def test_plan_of_which_nothing_can_be_judged_fails():
    run = Run(text='["open drawer"]')
    stop, _hold, finish = run.fail_monitor(ParameterError('no predicate tells of it'))
    assert stop.verdict.stop
    assert not finish.success
    assert 'no predicate' in finish.reason


def test_time_limit_ends_planning_and_execution():
    run = Run(Goal('x', time_limit_s=10.0), text=None)
    assert run.tick(9.0) == []
    (finish,) = run.tick(1.0)
    assert finish.reason == 'time limit of 10 s reached while planning'
    run = Run(Goal('x', time_limit_s=10.0))
    stop, _hold, finish = run.tick(10.0)
    assert stop.verdict.stop
    assert finish.reason.startswith('time limit of 10 s reached while executing, at step 1 of 2')


def test_time_limit_of_zero_takes_the_default():
    run = Run(time_limit_s=50.0, subtask_timeout_s=1000.0)
    assert _kinds(run.tick(49.0)) == [AskMonitor]
    assert isinstance(run.tick(1.0)[-1], Finish)


def test_cancel_holds_the_arm():
    run = Run()
    hold, finish = run.do('cancel')
    assert hold.plan.subtasks == ()
    assert finish == Finish(False, 'cancelled, at step 1 of 2 (grasp soup)')
    assert run.executive.state is State.CANCELLED


def test_cancel_while_planning_publishes_no_plan():
    run = Run(text=None)
    assert run.do('cancel') == [Finish(False, 'cancelled')]


def test_success_of_the_body_counts_where_it_judges_the_task():
    run = Run(Goal('x', body_judges=True))
    hold, finish = run.do('episode_ended', True, 'success')
    assert hold.plan.subtasks == ()
    assert finish.success
    run = Run(Goal('x', body_judges=False))
    assert not run.do('episode_ended', True, 'success')[-1].success


def test_end_of_the_episode_without_success_fails_with_its_reason():
    run = Run()
    finish = run.do('episode_ended', False, 'horizon of 700 steps')[-1]
    assert finish.reason == (
        'the episode ended: horizon of 700 steps, at step 1 of 2 (grasp soup)'
    )


def test_verified_plan_is_no_success_against_the_body():
    run = Run(Goal('x', body_judges=True))
    run.step(success=False)
    *_, finish = run.step(success=False)
    assert not finish.success
    assert 'the body reports no success' in finish.reason
    run = Run(Goal('x', body_judges=True))
    run.step(success=False)
    assert run.step(success=True)[-1].success


def test_abort_ends_with_the_given_reason():
    run = Run()
    assert run.do('abort', 'no observation for 30 s')[-1].reason == 'no observation for 30 s'


def test_second_task_starts_with_revision_one_again():
    run = Run()
    run.step()
    run.step()
    run.do('start', Goal('open the box'), run.observation())
    (revision,) = run.plan('["open box"]')
    assert revision.plan.revision == 1
    assert revision.plan.instruction == 'open the box'
    assert run.executive.replans == 0


def test_task_in_a_task_and_negative_limits_are_refused():
    run = Run()
    with pytest.raises(ParameterError, match='one at a time'):
        run.do('start', Goal('x'), run.observation())
    run.do('cancel')
    with pytest.raises(ParameterError, match='time_limit'):
        run.do('start', Goal('x', time_limit_s=-1.0), run.observation())
    with pytest.raises(ParameterError, match='time_limit'):
        run.do('start', Goal('x', time_limit_s=float('nan')), run.observation())


@pytest.mark.parametrize(
    'setting',
    [
        {'attempts': 0},
        {'replans': -1},
        {'confirmations': 0},
        {'subtask_timeout_s': 0.0},
        {'time_limit_s': float('inf')},
    ],
)
def test_limit_that_is_none_is_refused(setting):
    with pytest.raises(ParameterError, match=next(iter(setting))):
        ExecutiveSettings(**setting)


def test_verdict_carries_the_stamp_of_its_observation():
    run = Run()
    run.tick()
    seen = run.now
    run.now += S
    assert run.judge(NO)[0].verdict.stamp_ns == seen


def test_tick_that_may_not_ask_still_looks_at_the_time():
    run = Run(attempts=1)
    assert run.do('tick', run.observation(), may_ask=False) == []
    run.now += 30 * S
    assert _kinds(run.do('tick', run.observation(), may_ask=False)) == [PublishVerdict, AskPlanner]


def test_confirmations_need_news_from_cameras_or_predicates():
    run = Run(confirmations=2)
    predicates = Predicates(5, 1, 1, 1, (), (), False)
    for stamp, done in ((run.now, False), (run.now + S, False)):
        run.do('tick', Observation(stamp, 1, predicates=predicates))
        assert run.judge()[0].verdict.done is done
    newer = Predicates(6, 1, 1, 1, (), (), False)
    run.do('tick', Observation(run.now + S, 1, predicates=newer))
    assert run.judge()[0].verdict.done


def test_long_or_broken_reasoning_is_made_fit_for_a_message():
    text = f'<think>{"x" * 9000}\ud800</think><answer>{TWO}</answer>'
    run = Run(text=text)
    assert len(run.last(PublishPlan).plan.reasoning) == 4000
    run = Run(text=f'<think>\ud800 y</think><answer>{TWO}</answer>')
    assert run.last(PublishPlan).plan.reasoning == '? y'


INPUTS = st.one_of(
    st.sampled_from(('tick', 'late tick', 'yes', 'no', 'stale', 'down', 'unjudgeable')),
    st.sampled_from(('plan', 'bad plan', 'refuse', 'cancel', 'success', 'horizon', 'start')),
)


@given(st.lists(INPUTS, max_size=40))
def test_any_order_of_inputs_keeps_the_promises_of_the_machine(inputs):
    run = Run(text=None, attempts=2, replans=1, monitor_failures=2)
    errors = {
        'stale': StaleDataError('s'),
        'down': PlannerUnavailableError('d'),
        'unjudgeable': ParameterError('u'),
    }
    for name in inputs:
        asked = [c.number for c in run.commands if isinstance(c, AskMonitor)][-1:] or [0]
        question = run.last(AskPlanner).number
        if name in {'tick', 'late tick'}:
            run.tick(0.2 if name == 'tick' else 31.0)
        elif name in {'yes', 'no'}:
            run.do('judged', asked[0], YES if name == 'yes' else NO, 0.1)
        elif name in errors:
            run.do('monitor_failed', asked[0], errors[name], 0.1)
        elif name in {'plan', 'bad plan'}:
            run.do('plan_text', question, TWO if name == 'plan' else '[]')
        elif name == 'refuse':
            run.do('plan_failed', question, PlanSyntaxError('no'))
        elif name == 'cancel':
            run.do('cancel')
        elif name == 'start' and not run.executive.state.is_running:
            run.commands.clear()
            run.do('start', Goal('again'), run.observation())
        elif name in {'success', 'horizon'}:
            run.do('episode_ended', name == 'success', name)
    plans = [c.plan for c in run.commands if isinstance(c, PublishPlan)]
    assert [p.revision for p in plans] == list(range(1, len(plans) + 1))
    finishes = [c for c in run.commands if isinstance(c, Finish)]
    assert len(finishes) == (not run.executive.state.is_running)
    assert all(f.reason for f in finishes)
    assert not finishes or run.commands[-1] is finishes[0]
    for command in run.commands:
        if isinstance(command, PublishVerdict):
            plan = plans[command.verdict.revision - 1]
            assert plan.subtasks[command.verdict.index].id == command.verdict.subtask_id
