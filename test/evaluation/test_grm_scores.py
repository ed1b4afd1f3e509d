"""Means and intervals of the VOC benchmark, and paired differences of arms."""

from __future__ import annotations

import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.grm_paired import compare_arms
from structrl_ros.evaluation.grm_paired import compare_results
from structrl_ros.evaluation.grm_scores import ModelResult
from structrl_ros.evaluation.grm_scores import TrajectoryScore
from structrl_ros.evaluation.grm_scores import VocFamily
from structrl_ros.evaluation.grm_scores import summarise_scores


def score(name, voc, *, family=VocFamily.IN_DISTRIBUTION, episode='', completions=(), excluded=''):
    return TrajectoryScore(
        trajectory=name,
        episode=episode or name,
        family=family,
        voc=voc,
        voc_incremental=voc,
        excluded=excluded,
        truth=(0.0, 1.0),
        estimate=(0.0, 1.0),
        completions=completions,
    )


def test_a_family_counts_what_it_leaves_out_and_why():
    scores = [score('a', 1.0), score('b', 0.5), score('c', None, excluded='no number')]
    summary = summarise_scores(scores)
    first = summary.families[0]
    assert (first.mean, first.counted, first.episodes) == (0.75, 2, 2)
    assert first.excluded == {'no number': 1}
    assert first.interval == (0.5, 1.0)
    assert summary.average is None
    assert [f.family for f in summary.families] == list(VocFamily)


def test_the_average_weighs_families_alike():
    scores = [score(f, 0.5, family=f) for f in VocFamily]
    scores += [score(f'more {n}', 1.0) for n in range(3)]
    assert summarise_scores(scores).average == pytest.approx((4 * 0.5 + 0.875) / 5)


def test_copies_within_an_episode_make_no_interval_narrower():
    few = [score(f'{e}', e / 9) for e in range(10)]
    many = [score(f'{e} {n}', e / 9, episode=f'{e}') for e in range(10) for n in range(20)]
    narrow, wide = (summarise_scores(s).families[0].interval for s in (many, few))
    assert narrow == pytest.approx(wide, abs=0.01)
    apart = summarise_scores([score(f'{e} {n}', e / 9) for e in range(10) for n in range(20)])
    low, high = apart.families[0].interval
    assert high - low < 0.5 * (wide[1] - wide[0])


def test_a_model_that_always_says_completed_has_half_the_accuracy():
    always = score('a', 1.0, completions=((False, True), (True, True)))
    right = score('b', 1.0, completions=((False, False), (True, True)))
    assert summarise_scores([always] * 3).completion.accuracy == 0.5
    assert summarise_scores([right]).completion.accuracy == 1.0
    assert summarise_scores([score('c', 1.0)]).completion.accuracy is None


def test_a_difference_that_every_trajectory_has_is_shown():
    names = [f'{n}' for n in range(8)]
    a = [[score(n, 0.5 + int(n) / 20) for n in names]] * 2
    b = [[score(n, 0.6 + int(n) / 20) for n in names]] * 2
    (found,) = compare_arms(a, b)
    assert found.difference == pytest.approx(0.1)
    assert found.interval == pytest.approx((0.1, 0.1))
    assert found.is_shown
    assert found.by_seed == pytest.approx((0.1, 0.1))
    assert (found.trajectories, found.left_out, found.seeds) == (8, 0, (2, 2))


def test_seeds_that_disagree_widen_the_interval_over_0():
    names = [f'{n}' for n in range(8)]
    a = [[score(n, 0.5) for n in names]] * 3
    b = [[score(n, voc) for n in names] for voc in (0.2, 0.5, 0.9)]
    (found,) = compare_arms(a, b)
    assert found.difference == pytest.approx(0.1 / 3)
    assert found.interval[0] < 0.0 < found.interval[1]
    assert not found.is_shown


def test_a_trajectory_without_a_voc_in_one_seed_is_left_out_of_the_pairs():
    a = [[score('a', 0.5), score('b', 0.5)], [score('a', 0.5), score('b', None)]]
    b = [[score('a', 0.7), score('b', 0.9)]]
    (found,) = compare_arms(a, b)
    assert (found.trajectories, found.left_out, found.by_seed) == (1, 1, ())
    assert found.difference == pytest.approx(0.2)


def test_arms_are_compared_with_the_first_and_averaged_over_families():
    def result(arm, lift):
        scores = [score(f, 0.4 + lift, family=f) for f in VocFamily]
        summary = summarise_scores(scores)
        return ModelResult(arm=arm, model=arm, input='panel', summary=summary, scores=(*scores,))

    found = compare_results([result('static', 0.0), result('panels', 0.2), result('more', 0.3)])
    assert [(d.a, d.b) for d in found] == [('static', 'panels'), ('static', 'more')]
    average = found[1].families[-1]
    assert average.family == 'average'
    assert average.difference == pytest.approx(0.3)
    assert found[0].to_json()['families'][0]['is_shown']


def test_arms_that_met_other_trajectories_are_refused():
    with pytest.raises(ParameterError, match='1 trajectories that one arm alone met, such as b'):
        compare_arms([[score('a', 1.0)]], [[score('a', 1.0), score('b', 1.0)]])
    only = ModelResult(
        arm='a', model='a', input='panel', summary=summarise_scores([]), scores=(score('a', 1.0),)
    )
    with pytest.raises(ParameterError, match="one arm 'a'; allowed: two and more"):
        compare_results([only])
