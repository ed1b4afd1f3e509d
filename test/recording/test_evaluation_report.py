"""Reports of evaluations: the numbers of the results, sound and self-contained HTML."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from structrl_ros.errors import BagError
from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.paired import mcnemar_exact
from structrl_ros.evaluation.policy_comparison import compare_results
from structrl_ros.evaluation.results import EvaluatedPolicy
from structrl_ros.evaluation.statistics import wilson_interval
from structrl_ros.recording.report_episodes import episode_table
from structrl_ros.recording.report_episodes import load_pictures
from structrl_ros.recording.report_episodes import save_picture
from structrl_ros.recording.report_evaluation import render_comparison
from structrl_ros.recording.report_evaluation import write_comparison
from structrl_ros.recording.report_evaluation import write_evaluation


def check_sound(html):
    assert [i for i, n in Counter(html.ids).items() if n > 1] == []
    assert set(html.uses) <= set(html.ids)
    for link in html.links:
        assert link.startswith('data:') or (link[0] == '#' and link[1:] in html.ids), link
    assert all(image['alt'] for image in html.images)


def test_evaluation_shows_rates_with_wilson_intervals(tmp_path, make_results, parse_html):
    results = make_results('before')
    page = write_evaluation(tmp_path / 'report.html', results).read_text()
    check_sound(parse_html(page))
    wins = sum(e.success for e in results.episodes)
    low, high = wilson_interval(wins, 100)
    assert f'{wins} of 100</td><td class="n">{wins}.0 %' in page
    assert f'[{low:.1%}, {high:.1%}]'.replace('%', ' %') in page
    assert page.count('<tr><td class="n">') == 100
    assert '&lt;thing&gt; &amp; 1' in page
    assert '<by a test>' not in page


def test_comparison_shows_mcnemar_and_bootstrap_of_the_pairs(tmp_path, make_results, parse_html):
    a, b = make_results('before', skill=0.4), make_results('after', seed=1, skill=0.8)
    page = write_comparison(tmp_path / 'report.html', a, b).read_text()
    check_sound(parse_html(page))
    total = compare_results(a, b).total
    low, high = total.interval
    assert f'p = {mcnemar_exact(total.only_a, total.only_b):.3g}' in page
    assert f'[{low * 100:+.1f}, {high * 100:+.1f}]' in page
    assert f'<strong>{total.only_a}</strong>' in page
    assert f'<strong>{total.only_b}</strong>' in page
    assert 'a difference is shown' in page
    assert all(f'Policy {name}</th>' in page for name in ('before', 'after'))
    results = re.findall(r'<td>(both|neither|only before|only after)</td>', page)
    assert Counter(results) == {
        'both': total.both,
        'only before': total.only_a,
        'only after': total.only_b,
        'neither': 100 - total.both - total.only_a - total.only_b,
    }


def test_equal_policies_are_not_said_to_differ(make_results):
    page = render_comparison(make_results('one'), make_results('two'))
    assert 'no difference is shown' in page
    assert '+0.0 points' in page


def test_two_policies_of_one_evaluation_are_compared(make_results):
    results = make_results('one')
    others = make_results('two', seed=3).episodes
    both = replace(
        results,
        policies=(*results.policies, EvaluatedPolicy(code='two', name='two')),
        episodes=(
            *results.episodes,
            *(replace(e, number=100 + e.number) for e in others),
        ),
    )
    page = render_comparison(both)
    assert '<h1>one against two</h1>' in page
    assert 'Policy two' in page


def test_unequal_protocols_are_refused(tmp_path, make_results):
    other = replace(make_results('b'), protocol_hash='another')
    with pytest.raises(ParameterError, match='only equal protocols'):
        write_comparison(tmp_path / 'report.html', make_results('a'), other)
    assert not (tmp_path / 'report.html').exists()


@pytest.mark.parametrize('skill', [0.0, 1.0])
def test_all_or_no_success_is_shown(tmp_path, make_results, parse_html, skill):
    results = make_results('sure', tasks=1, each=3, skill=skill)
    page = write_evaluation(tmp_path / 'report.html', results).read_text()
    check_sound(parse_html(page))
    assert f'{3 * skill:.0f} of 3' in page
    assert ('No episode failed' in page) is (skill == 1.0)


def test_evaluation_that_just_began_is_shown_as_not_finished(tmp_path, make_results, parse_html):
    results = replace(make_results('slow'), episodes=())
    page = write_evaluation(tmp_path / 'report.html', results).read_text()
    check_sound(parse_html(page))
    assert 'evaluation, not finished' in page
    assert '0 of 100' in page


def test_evaluation_without_a_policy_is_refused(tmp_path, make_results):
    with pytest.raises(ParameterError, match='no policy'):
        write_evaluation(tmp_path / 'r.html', replace(make_results('x'), policies=(), episodes=()))


def test_place_that_cannot_be_written_is_named(tmp_path, make_results):
    with pytest.raises(BagError, match='nowhere'):
        write_evaluation(tmp_path / 'nowhere' / 'report.html', make_results('x', 1, 2))


def test_pictures_of_episodes_are_kept_small_and_found_again(tmp_path, make_results):
    pixels = np.zeros((480, 640, 3), dtype=np.uint8)
    for number in (0, 3):
        save_picture(tmp_path, number, pixels)
    (tmp_path / 'pictures' / 'other.jpg').write_bytes(b'')
    pictures = load_pictures(tmp_path)
    assert sorted(pictures) == [0, 3]
    assert len(pictures[0]) < 2000
    table = episode_table(make_results('x', 1, 5), pictures)
    assert [len(row.pictures) for row in table.rows] == [1, 0, 0, 1, 0]
    assert load_pictures(tmp_path / 'none') == {}
