"""The whole graph with a model in the planner's process: a tiny random one, so noise decides."""

import json
import subprocess
import sys

import pytest

pytest.importorskip('transformers')
pytest.importorskip('xgrammar')

from structrl_ros.models.vlm.tiny_vlm import save_tiny_vlm

pytestmark = [pytest.mark.ros, pytest.mark.torch, pytest.mark.slow, pytest.mark.timeout(400)]

CELL = """
planner_node:
  ros__parameters:
    verify_threshold: 0.001
"""


def test_verdicts_of_a_local_model_go_through_the_graph_to_a_stated_end(tmp_path):
    save_tiny_vlm(tmp_path / 'tiny')
    (tmp_path / 'cell.yaml').write_text(CELL)
    run = tmp_path / 'run'
    words = ['demo', '--body', 'kinematic', '--lockstep']
    words += ['--run-dir', str(run), 'monitor:=local', f'model:={tmp_path / "tiny"}']
    words.append(f'params_file:={tmp_path / "cell.yaml"}')
    done = subprocess.run(
        [sys.executable, '-m', 'structrl_ros.cli.main', *words],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    told = done.stdout + done.stderr
    assert 'every step was verified, yet the body reports no success' in told, told
    assert 'killed after not ending in time' not in told
    numbers = json.loads((run / 'run.json').read_text())
    assert numbers['monitor']['names'] == ['local:tiny']
    assert 'done    grasp(alphabet soup) (local:tiny' in told
    assert numbers['monitor']['verdicts'] >= 2
