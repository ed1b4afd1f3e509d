"""What-if: other rewards and another monitor on a recording, in a table and a plot."""

from xml.etree import ElementTree

import pytest
from rich.console import Console
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.cli.replay_what_if import try_replay
from structrl_ros.errors import BagError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.monitor_what_if import step_times
from structrl_ros.recording.monitor_what_if import with_monitor
from structrl_ros.recording.recomputation import what_if
from structrl_ros.recording.run_events import read_events
from structrl_ros.recording.what_if_chart import write_chart
from structrl_ros.subtasks.predicate_monitor import PredicateMonitor
from structrl_ros.types import Judgement
from structrl_ros.types import Verdict


class Blind:
    """A monitor that never sees anything done."""

    name = 'blind'

    def verify(self, subtask, start, now):
        return Judgement(False, 0.5)


@pytest.fixture
def events(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    return read_events(tmp_path / 'bag')


def test_another_monitor_sees_each_step_when_its_predicate_holds(events):
    tried = with_monitor(events, PredicateMonitor(), lockstep=True)
    times = step_times(events, tried)
    assert [t.subtask_id for t in times] == ['s1', 's2', 's3', 's4']
    # Predicates hold from chunks 5, 11, 16 and 22 of 0.4 s on: in the first tick of the chunk.
    assert [t.computed_ns for t in times] == [
        1_000_000_000 + round((k - 1) * 4e8) + 200_000_000 for k in (5, 11, 16, 22)
    ]
    assert [t.recorded_ns - t.computed_ns for t in times] == [200_000_000] * 4


def test_monitor_that_sees_nothing_moves_nothing_on(events):
    tried = with_monitor(events, Blind(), lockstep=True)
    assert {v.monitor for v in tried.of(Verdict)} == {'blind'}
    assert {v.subtask_id for v in tried.of(Verdict)} == {'s1'}
    assert [t.computed_ns for t in step_times(events, tried)] == [None] * 4
    assert len(tried.of(Verdict)) == len(events.of(Verdict))


def test_table_of_steps_is_shown_with_another_monitor_only(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    shown = {}
    for monitor in ('', 'predicates'):
        console = Console(record=True, width=200)
        try_replay(tmp_path, ['truth_source:=verdicts'], console, monitor=monitor)
        shown[monitor] = console.export_text()
    assert 'computed return' in shown['']
    assert 'later by, s' not in shown['']
    assert shown['predicates'].count('+0.000') == 4  # in real time it was this monitor


def test_unknown_monitor_is_one_clear_line(tmp_path, synthetic_run):
    synthetic_run(chunks=2).write(tmp_path)
    with pytest.raises(ParameterError, match="monitor 'oracle'; allowed on a recording: predi"):
        try_replay(tmp_path, [], Console(), monitor='oracle')


def test_plot_shows_both_curves_of_the_episode(tmp_path, synthetic_run):
    synthetic_run().write(tmp_path)
    words = ['replay', str(tmp_path), '--what-if', 'beta:=1.0', '--plot', str(tmp_path / 'x.svg')]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    root = ElementTree.parse(tmp_path / 'x.svg').getroot()
    texts = [t for e in root.iter() if (t := (e.text or '').strip())]
    assert {'recorded', 'what if', 'return, episode 1', 'what if beta:=1.0'} <= set(texts)
    colours = (tmp_path / 'x.svg').read_text()
    assert '#555555' in colours
    assert '#c2410c' in colours


def test_plot_of_an_unknown_kind_is_one_clear_line(events, tmp_path):
    from structrl_ros.recording.ledger import recorded_settings

    entries = what_if(events, recorded_settings(events))
    with pytest.raises(BagError, match=r'x\.txt cannot be written'):
        write_chart(tmp_path / 'x.txt', entries, 'title')
    with pytest.raises(BagError, match='no rewards to draw'):
        write_chart(tmp_path / 'x.svg', [], 'title')
