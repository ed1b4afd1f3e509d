"""`structrl bag`: what was cut is shown, and finished."""

import os

from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.recording.bag_reader import BagReader
from structrl_ros.recording.bag_writer import BagWriter


def cut_bag(path):
    writer = BagWriter(path)
    writer.add_topic('/noise', 'std_msgs/msg/ByteMultiArray')
    for i in range(20):
        writer.write('/noise', bytes([i]) * 1000)
        writer.flush()
    os.truncate(path / 'bag_0.mcap', (path / 'bag_0.mcap').stat().st_size - 500)
    return path


def call(*arguments):
    return CliRunner().invoke(app, ['bag', *map(str, arguments)])


def test_cut_bag_is_shown_and_repaired(tmp_path):
    path = cut_bag(tmp_path / 'bag')
    shown = call('info', path)
    assert shown.exit_code == 0
    assert '/noise' in shown.output
    assert 'structrl bag repair' in shown.output
    done = call('repair', path)
    assert '19 messages' in done.output
    assert not BagReader(path).is_cut
    assert 'structrl bag repair' not in call('info', path).output


def test_folder_without_a_bag_is_one_clear_line(tmp_path):
    result = call('repair', tmp_path)
    assert result.exit_code == 1
    assert 'holds 0 .mcap and 0 .db3 files' in str(result.exception)
