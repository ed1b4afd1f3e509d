"""Results of an evaluation: records, summaries, causes of failure, and the file."""

import dataclasses
import json

import pytest
from episode_records import episode_record

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.episode_record import record_from_json
from structrl_ros.evaluation.failures import FailureEvidence
from structrl_ros.evaluation.failures import failure_cause
from structrl_ros.evaluation.results import EvaluatedPolicy
from structrl_ros.evaluation.results import EvaluationResults
from structrl_ros.evaluation.results import load_results
from structrl_ros.evaluation.results import save_results
from structrl_ros.evaluation.statistics import Rate
from structrl_ros.evaluation.summary import macro_interval
from structrl_ros.evaluation.summary import macro_rate
from structrl_ros.evaluation.summary import summarise


def record(number=0, success=True, **changes):
    values = {
        'number': number,
        'seed': number,
        'cause': '' if success else 'never_grasped',
        'subtasks': (('grasp(a)', success), ('in(a, b)', success)),
        'duration_s': 1.0 + number,
        'interventions': 1,
        'episode_return': 2.0,
    }
    return episode_record(success, **{**values, **changes})


def results(*episodes, **changes):
    values = {
        'protocol': 'p',
        'protocol_hash': 'h',
        'body': 'twin',
        'success_rule': 'truth',
        'planned': len(episodes),
        'policies': (EvaluatedPolicy(code='A', name='before'),),
        'episodes': episodes,
    }
    return EvaluationResults(**{**values, **changes})


def test_results_survive_the_file(tmp_path):
    before = results(record(0), record(1, False), stopped='lower', details={'note': 'x'})
    save_results(tmp_path / 'results.json', before)
    assert load_results(tmp_path) == before
    document = json.loads((tmp_path / 'results.json').read_text())
    assert document['policies'][0]['summary']['total']['success']['count'] == 1


def test_headline_counts_each_policy_of_an_evaluation_that_is_not_over():
    policies = (EvaluatedPolicy(code='A', name='before'), EvaluatedPolicy(code='B'))
    episodes = record(0), record(1, False), record(2, code='B')
    told = results(*episodes, policies=policies, planned=8).headline
    assert told == 'p: before (A) 1 of 2, B 1 of 1; 8 planned'


@pytest.mark.parametrize(
    ('change', 'line'),
    [
        ({'format': 2}, 'format is 2; allowed: 1'),
        ({'episodes': [{}]}, "'number' is missing"),
        ({'planned': None}, 'TypeError'),
    ],
)
def test_wrong_file_is_one_line(tmp_path, change, line):
    document = {**results(record()).to_json(), **change}
    (tmp_path / 'results.json').write_text(json.dumps(document))
    with pytest.raises(ParameterError, match=line) as error:
        load_results(tmp_path)
    assert '\n' not in str(error.value)


@pytest.mark.parametrize(
    ('change', 'line'),
    [
        ({'number': -1}, 'number is -1'),
        ({'success': 1}, 'success is 1; allowed: bool'),
        ({'end': 'tired'}, "end is 'tired'; allowed: success, horizon"),
        ({'subtasks': [['a']]}, 'subtasks must be pairs'),
        ({'duration_s': float('nan')}, 'duration_s is nan'),
        ({'more': 1}, "'more' is unknown"),
    ],
)
def test_wrong_record_is_one_line(change, line):
    with pytest.raises(ParameterError, match=line):
        record_from_json({**record().to_json(), **change})


def test_record_survives_json():
    one = record(3, False)
    assert record_from_json(json.loads(json.dumps(one.to_json()))) == one


def test_summary_counts_by_hand():
    mine = (record(0), record(1, False), record(2, task='other', interventions=0))
    summary = summarise('A', (*mine, record(3, code='B')))
    assert [t.task for t in summary.tasks] == ['pack', 'other']
    assert summary.total.success == Rate(2, 3)
    assert summary.macro == pytest.approx((0.5 + 1.0) / 2)
    assert summary.tasks[0].subtasks['in(a, b)'] == Rate(1, 2)
    assert summary.total.steps_done == Rate(4, 6)
    assert summary.total.causes == {'never_grasped': 1}
    assert summary.total.interventions == 2
    assert summary.total.mean_duration_s == pytest.approx(2.0)
    assert summary.total.mean_success_s == pytest.approx(2.0)


def test_summary_of_nothing_says_nothing():
    summary = summarise('A', ())
    assert summary.macro is None
    assert summary.macro_interval == (0.0, 1.0)
    assert summary.total.success.value is None
    assert summary.total.mean_duration_s is None


def test_macro_rate_weighs_tasks_equally_and_skips_untried_ones():
    assert macro_rate([Rate(5, 10), Rate(1, 1), Rate(0, 0)]) == 0.75
    assert macro_rate([Rate(0, 0)]) is None


@pytest.mark.parametrize(('successes', 'n'), [(0, 8), (8, 8), (3, 8)])
def test_macro_interval_of_one_task_is_wilsons(successes, n):
    from scipy.stats import binomtest

    low, high = macro_interval([Rate(successes, n)])
    expected = binomtest(successes, n).proportion_ci(method='wilson')
    assert (low, high) == pytest.approx((expected.low, expected.high))


def test_macro_interval_of_unequal_n_leans_on_no_task_and_holds_the_mean():
    rates = [Rate(1, 2), Rate(40, 50), Rate(0, 0)]
    low, high = macro_interval(rates)
    assert 0.0 <= low < (0.5 + 0.8) / 2 < high <= 1.0
    assert macro_interval([Rate(10, 10)] * 3)[1] == 1.0
    assert macro_interval([Rate(0, 10)] * 3)[0] == 0.0


GRASP, PLACE = 'grasp(apple)', 'in(apple, box)'
STEPS = (('open(box)', True), (PLACE, False), ('close(box)', False))
HELD, NOT = frozenset({GRASP}), frozenset({'open(box)'})


@pytest.mark.parametrize(
    ('evidence', 'cause', 'detail'),
    [
        ({'success': True, 'end': 'success'}, '', ''),
        ({'end': 'safety_stop', 'subtasks': STEPS}, 'safety_stop', ''),
        ({'end': 'policy_error'}, 'policy_error', ''),
        ({'end': 'no_plan'}, 'no_plan', ''),
        ({'subtasks': STEPS, 'truth': [NOT, NOT]}, 'never_grasped', 'apple'),
        ({'subtasks': STEPS, 'truth': [HELD, NOT]}, 'dropped', 'apple'),
        ({'subtasks': STEPS, 'truth': [NOT, HELD]}, 'not_done', f'2 of 3: {PLACE}'),
        ({'subtasks': [('open(box)', False)], 'truth': [NOT]}, 'not_done', '1 of 1: open(box)'),
        ({'subtasks': [(GRASP, False)], 'truth': [NOT]}, 'never_grasped', 'apple'),
        ({'subtasks': STEPS, 'tells_grasps': False}, 'not_done', f'2 of 3: {PLACE}'),
        (
            {
                'subtasks': [('place(apple, box)', False)],
                'predicates': {'place(apple, box)': 'in(apple_1, box_1)'},
                'truth': [frozenset({'grasp(apple_1)'}), NOT],
            },
            'dropped',
            'apple',
        ),
        ({'subtasks': [(PLACE, True)]}, 'not_judged', ''),
        ({'end': 'gave_up'}, 'gave_up', ''),
        ({}, 'horizon', ''),
    ],
)
def test_cause_of_failure(evidence, cause, detail):
    told = {'success': False, 'end': 'horizon', 'tells_grasps': True, **evidence}
    assert failure_cause(FailureEvidence(**told)) == (cause, detail)


def test_evidence_of_a_hard_end_hides_what_was_missing():
    soft = FailureEvidence(success=False, end='horizon', subtasks=STEPS)
    assert failure_cause(soft)[0] == 'not_done'
    assert failure_cause(dataclasses.replace(soft, end='body_error'))[0] == 'body_error'
