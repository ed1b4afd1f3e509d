"""The progress model in the graph `deploy`: off by default, one argument to have it."""

import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.params import graph


def parameters(loaded, name):
    return next(node.parameters for node in loaded.nodes if node.name == name)


def test_the_progress_model_is_off_by_default_and_on_with_one_argument():
    assert 'grm_node' not in [n.name for n in graph.load_graph('deploy').nodes]
    words = {'progress': 'grm', 'lockstep': 'true', 'record': 'bag', 'progress_model': 'runs/grm'}
    loaded = graph.load_graph('deploy', words)
    grm = parameters(loaded, 'grm_node')
    assert (grm['model'], grm['goal']) == ('runs/grm', '')
    assert grm['roles'] == ['head', 'left_wrist']
    assert (grm['rate_hz'], grm['lockstep'], grm['use_sim_time']) == (0.0, True, True)
    assert parameters(loaded, 'recorder_node')['images'] == 'all'


def test_no_more_cameras_are_recorded_than_somebody_looks_at():
    words = {'progress': 'grm', 'progress_roles': 'head', 'record': 'bag'}
    loaded = graph.load_graph('deploy', words)
    assert parameters(loaded, 'grm_node')['roles'] == ['head']
    assert parameters(loaded, 'recorder_node')['images'] == 'head'
    assert (
        parameters(graph.load_graph('deploy', {'record': 'bag'}), 'recorder_node')['images']
        == 'head'
    )


def test_the_monitor_that_reads_the_potential_needs_a_progress_model():
    with pytest.raises(ParameterError, match='monitor grm looks at a progress model; allowed: pr'):
        graph.load_graph('deploy', {'monitor': 'grm'})
    loaded = graph.load_graph('deploy', {'monitor': 'grm', 'progress': 'grm'})
    assert parameters(loaded, 'planner_node')['monitor'] == 'grm'


def test_thresholds_that_cross_are_refused(tmp_path):
    cell = tmp_path / 'cell.yaml'
    cell.write_text('planner_node: {ros__parameters: {potential_high: 0.5}}\n')
    with pytest.raises(ParameterError, match=r"'potential_low' is 0.8; allowed: at most"):
        graph.load_graph('deploy', {'params_file': str(cell)})
