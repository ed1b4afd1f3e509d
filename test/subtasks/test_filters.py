"""The four filters of StructRL, Appendix B.2: each drops what it should, and nothing else."""

import json

import pytest

from structrl_ros.plan.parse import parse_plan
from structrl_ros.plan.parse import to_plan
from structrl_ros.subtasks.decomposition import Demonstration
from structrl_ros.subtasks.filters import RELAXED
from structrl_ros.subtasks.filters import Candidate
from structrl_ros.subtasks.filters import Evidence
from structrl_ros.subtasks.filters import FilterLimits
from structrl_ros.subtasks.filters import apply_filters
from structrl_ros.subtasks.filters import ground_candidates

OPEN, GRASP, IN, CLOSE = 'open(box_1)', 'grasp(can_1)', 'in(can_1, box_1)', 'close(box_1)'
KNOWN = (OPEN, GRASP, IN, CLOSE)
STEPS = {OPEN: 10, GRASP: 20, IN: 30, CLOSE: 40}


def demos(count=4, **changes):
    rows = [{n: s + i for n, s in STEPS.items()} for i in range(count)]
    for name, values in changes.items():
        for row, value in zip(rows, values, strict=True):
            row[{'open_': OPEN, 'grasp': GRASP, 'in_': IN, 'close': CLOSE}[name]] = value
    return tuple(Demonstration(i, 0, 50, row) for i, row in enumerate(rows))


def plan(*stages):
    return to_plan(parse_plan(json.dumps({'stages': [list(s) for s in stages]})))


WHOLE = plan(['open the box'], ['grasp can', 'place can in box'], ['close the box'])


def filtered(subtasks=WHOLE, limits=None, known=KNOWN, **evidence):
    candidates = ground_candidates(subtasks, known)
    stages, dropped = apply_filters(candidates, Evidence(known=known, **evidence), limits)
    names = [[s.predicate for s in stage] for stage in stages]
    return names, [(d.phrase, d.filter) for d in dropped], [d.reason for d in dropped]


def test_good_plan_keeps_all_its_stages():
    names, dropped, _ = filtered(resets=10, idle=4, demonstrations=demos(), replays=demos())
    assert names == [[OPEN], [GRASP, IN], [CLOSE]]
    assert dropped == []


def test_i_drops_what_no_template_tells_and_removes_its_stage():
    subtasks = plan(['open the box'], ['stir the soup for a while'], ['close the box'])
    names, dropped, reasons = filtered(subtasks)
    assert names == [[OPEN], [CLOSE]]
    assert dropped == [('stir soup for while', 'i')]
    assert 'activity' in reasons[0]


def test_i_drops_a_given_predicate_that_the_body_has_not():
    stages, dropped = apply_filters([Candidate(0, 'wave', 'wave(can_1)')], Evidence(known=KNOWN))
    assert stages == ()
    assert [d.filter for d in dropped] == ['i']


def test_ii_drops_what_is_true_at_reset_in_any_initial_state():
    names, dropped, reasons = filtered(resets=10, true_at_reset={OPEN: 1})
    assert names == [[GRASP, IN], [CLOSE]]
    assert dropped == [('open box', 'ii')]
    assert reasons == ['true at reset in 1 of 10 initial states']
    lenient = FilterLimits(at_reset=0.2)
    assert filtered(limits=lenient, resets=10, true_at_reset={OPEN: 1})[1] == []


def test_ii_drops_what_fires_without_purpose_unless_relaxed():
    told = {'idle': 10, 'fired_idle': {GRASP: 2, OPEN: 1}}
    _, dropped, reasons = filtered(**told)
    assert dropped == [('grasp can', 'ii')]
    assert reasons == ['fired in 2 of 10 rollouts without purpose']
    assert filtered(limits=RELAXED, **told)[1] == []


def test_iii_drops_what_too_few_demonstrations_time():
    seen = demos(grasp=[None, None, None, 21])
    names, dropped, reasons = filtered(demonstrations=seen)
    assert names == [[OPEN], [IN], [CLOSE]]
    assert dropped == [('grasp can', 'iii')]
    assert reasons == ['timed by 1 of 4 demonstrations']


def test_iii_counts_anew_once_an_unseen_prerequisite_is_gone():
    names, dropped, _ = filtered(demonstrations=demos(open_=[None] * 4))
    assert names == [[GRASP, IN], [CLOSE]]
    assert dropped == [('open box', 'iii')]


def test_iii_drops_what_does_not_come_again_under_replay():
    again = demos(in_=[30, 31, None, 33])
    _, dropped, reasons = filtered(demonstrations=demos(), replays=again)
    assert dropped == [('place can in box', 'iii')]
    assert reasons == ['differs in 1 of 4 replays']
    nearly = demos(in_=[31, 32, 33, 34])
    assert filtered(demonstrations=demos(), replays=nearly)[1] == []


def test_iii_judges_nothing_without_demonstrations():
    assert filtered()[1] == []


def test_iv_drops_the_second_subtask_of_one_predicate():
    subtasks = plan(['grasp can'], ['grasp can'], ['place can in box'])
    names, dropped, _ = filtered(subtasks)
    assert names == [[GRASP], [IN]]
    assert dropped == [('grasp can', 'iv')]


def test_iv_drops_what_begins_with_another_in_every_demonstration():
    seen = demos(in_=[20, 21, 22, 23])
    names, dropped, reasons = filtered(demonstrations=seen)
    assert names == [[OPEN], [GRASP], [CLOSE]]
    assert dropped == [('place can in box', 'iv')]
    assert GRASP in reasons[0]
    assert filtered(demonstrations=seen[:2])[1] == []
    assert filtered(limits=RELAXED, demonstrations=seen)[1] == []


@pytest.mark.parametrize('count', [1, 4])
def test_name_that_no_demonstration_shows_is_dropped_even_where_half_is_enough(count):
    seen = demos(count, close=[None] * count)
    assert filtered(demonstrations=seen)[1] == [('close box', 'iii')]
