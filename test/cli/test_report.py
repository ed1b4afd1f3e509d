"""`structrl report` and `structrl evaluate compare --html`: pages from folders."""

from dataclasses import replace

from episode_records import episode_record
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.results import RESULTS
from structrl_ros.evaluation.results import EvaluatedPolicy
from structrl_ros.evaluation.results import EvaluationResults
from structrl_ros.evaluation.results import save_results


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)), catch_exceptions=True)


def write_results(folder, name, wins, protocol='p'):
    episode = episode_record(code=name, task='pour')
    folder.mkdir()
    results = EvaluationResults(
        protocol='pouring',
        protocol_hash=protocol,
        body='twin',
        success_rule='truth',
        planned=6,
        policies=(EvaluatedPolicy(code=name, name=name),),
        episodes=tuple(
            replace(
                episode,
                number=i,
                seed=i,
                success=i < wins,
                end='success' if i < wins else 'horizon',
                cause='' if i < wins else 'horizon',
            )
            for i in range(6)
        ),
    )
    save_results(folder / RESULTS, results)
    return folder


def test_report_of_an_evaluation_is_written_beside_its_results(tmp_path):
    folder = write_results(tmp_path / 'a', 'before', 2)
    found = run('report', folder)
    assert found.exit_code == 0, found.output
    assert '2 of 6' in (folder / 'report.html').read_text()


def test_report_says_what_a_folder_must_hold(tmp_path):
    found = run('report', tmp_path)
    assert isinstance(found.exception, ParameterError)
    assert 'neither bag/ nor results.json' in str(found.exception)


def test_comparison_is_written_as_a_page(tmp_path):
    first = write_results(tmp_path / 'a', 'before', 2)
    second = write_results(tmp_path / 'b', 'after', 5)
    page = tmp_path / 'out.html'
    found = run('evaluate', 'compare', first, second, '--html', page)
    assert found.exit_code == 0, found.output
    assert 'before against after' in page.read_text()
    assert 'report:' in found.output


def test_unequal_protocols_write_no_page(tmp_path):
    first = write_results(tmp_path / 'a', 'before', 2)
    second = write_results(tmp_path / 'b', 'after', 5, protocol='q')
    page = tmp_path / 'out.html'
    found = run('evaluate', 'compare', first, second, '--html', page)
    assert isinstance(found.exception, ParameterError)
    assert not page.exists()


def test_help_of_report_names_both_kinds_of_folders():
    assert 'evaluation' in run('report', '--help').output
