"""Claims of `structrl train ... --body ros --tracker --traces`: three that pay the same."""

import json
import sys
from pathlib import Path

import pytest

rclpy = pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
pytest.importorskip('torch')
sys.path.insert(0, str(Path(__file__).parent))

from body_harness import Client  # noqa: E402
from body_harness import domain  # noqa: E402
from body_harness import end_node  # noqa: E402
from body_harness import start_node  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from structrl_ros.cli.main import app  # noqa: E402
from structrl_ros.cli.score import score_document  # noqa: E402
from structrl_ros.errors import ParameterError  # noqa: E402
from structrl_ros.types import Reward  # noqa: E402
from structrl_ros.wire import topics  # noqa: E402
from structrl_ros.wire.reward_codecs import reward_from_message  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.torch, pytest.mark.sim]


#: Opens the box, so that something is paid.
ABLE = Path(__file__).parents[2] / 'models' / 'checkpoints' / 'tabletop'
#: What tracker_node must be told: the trainer's decomposition, and the checkpoint's chunks.
PAID_BY = {'durations_body': 'tabletop', 'durations_variant': 'own', 'chunk_steps': 5}


def practise(run_dir, *options):
    words = ['train', 'ppo', '--task', 'pack_lunch', '--start', str(ABLE)]
    words += ['--run-dir', str(run_dir), 'iterations:=2', 'episodes:=2', 'environments:=1']
    words += ['evaluate_every:=0', 'critic_width:=16', *options]
    done = CliRunner().invoke(app, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output


def test_trainer_live_tracker_and_score_of_the_traces_pay_the_same(tmp_path, monkeypatch):
    number = domain('train with tracker')
    monkeypatch.setenv('ROS_DOMAIN_ID', str(number))
    nodes = [
        start_node('sim_node', number, body='tabletop', lockstep=True),
        start_node('tracker_node', number, **PAID_BY),
    ]
    hears = Client(number, also={topics.REWARD: reward_from_message}, publishes=())
    try:
        rewards = hears.subscriptions[topics.REWARD]
        hears.wait(rewards.get_publisher_count, 'a tracker that pays', limit=60.0)
        practise(tmp_path / 'run', '--body', 'ros', '--tracker', '--traces')
        files = [tmp_path / 'run' / 'traces' / f'{i}.json' for i in range(2)]
        cases = [case for file in files for case in json.loads(file.read_text())['cases']]
        paid = [value for case in cases for value in case['paid']]
        hears.wait(lambda: len(hears.all(Reward)) >= len(paid), 'the last reward', limit=60.0)
    finally:
        hears.close()
        ended = [end_node(node) for node in nodes]
    assert [status for status, _ in ended] == [0, 0], ended
    assert len(cases) == 4
    assert len(set(paid)) > 4
    assert [reward.value for reward in hears.all(Reward)] == paid
    scored = [score_document('structured_reward', json.loads(f.read_text()))[0] for f in files]
    outputs = [case['output'] for document in scored for case in document['cases']]
    assert [value for output in outputs for value in output['rewards']] == paid


def test_traces_are_kept_of_a_run_in_this_process_too(tmp_path):
    practise(tmp_path / 'run', '--body', 'tabletop', '--traces')
    document = json.loads((tmp_path / 'run' / 'traces' / '1.json').read_text())
    scored, is_fine = score_document('structured_reward', document)
    assert is_fine
    assert [c['output']['rewards'] for c in scored['cases']] == [
        c['paid'] for c in document['cases']
    ]


@pytest.mark.parametrize(
    ('options', 'line'),
    [
        (
            ('--body', 'tabletop', '--tracker'),
            "--tracker: body 'tabletop' has no graph; allowed: ros",
        ),
        (
            ('--body', 'ros', '--tracker', '--reward', 'terminal'),
            "--tracker: 'terminal' pays for no step of a plan; allowed: structured",
        ),
    ],
)
def test_a_tracker_where_none_can_pay_is_one_line(tmp_path, options, line):
    with pytest.raises(ParameterError) as caught:
        practise(tmp_path / 'run', *options)
    assert str(caught.value) == line
    assert not (tmp_path / 'run').exists()
