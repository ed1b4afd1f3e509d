"""`structrl export rerun`: rerun's own reader finds in the file what the bag holds."""

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import BagError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.run_events import read_events
from structrl_ros.types import Reward


def columns(path, entity):
    """Rows of an entity as rerun reads them: {column: list}."""
    from rerun.chunk import RrdReader

    found = {}
    for chunk in RrdReader(path).stream().to_chunks():
        if str(chunk.entity_path).strip('/') != entity:
            continue
        batch = chunk.to_record_batch()
        for name in batch.schema.names:
            array = batch.column(name)
            kind = str(array.type)
            if kind.startswith(('timestamp', 'duration')):
                array = array.cast('int64')
            found.setdefault(name, []).extend(array.to_pylist())
    return found


@pytest.fixture
def exported(tmp_path, synthetic_run):
    pytest.importorskip('rerun', reason='needs rerun: pip install -r requirements/rerun.txt')
    run = synthetic_run()
    run.write(tmp_path)
    out = tmp_path / 'run.rrd'
    result = CliRunner().invoke(app, ['export', 'rerun', str(tmp_path), '--out', str(out)])
    assert result.exit_code == 0, result.output
    return run, tmp_path / 'bag', out


def test_rewards_come_back_with_their_times_to_the_last_bit(exported):
    _, bag, out = exported
    recorded = read_events(bag).of(Reward)
    found = columns(out, 'reward/value')
    rows = sorted(zip(found['body'], found['Scalars:scalars'], strict=True))
    assert [value for _, (value,) in rows] == [r.value for r in recorded]
    assert [time for time, _ in rows] == [r.stamp_ns for r in recorded]


def test_every_picture_is_there_and_looks_as_it_did(exported, encoders):
    from io import BytesIO

    from PIL import Image

    run, _, out = exported
    found = columns(out, 'observation/head/image')
    sent = [data for topic, data in run.sent if topic == '/observation/head/image']
    assert len(found['EncodedImage:blob']) == len(sent) == 25
    first = min(zip(found['body'], found['EncodedImage:blob'], strict=True))
    pixels = np.asarray(Image.open(BytesIO(bytes(first[1][0]))))
    wanted = encoders['picture'](0.0)
    assert pixels.shape == wanted.shape
    assert np.abs(pixels.astype(int) - wanted).mean() < 6.0


def test_decisions_are_told_in_words(exported):
    _, _, out = exported
    texts = [text for (text,) in columns(out, 'plan')['TextLog:text']]
    assert texts == [
        'plan 1: grasp alphabet soup > place alphabet soup in basket > '
        'grasp tomato sauce > place tomato sauce in basket'
    ]
    said = [text for (text,) in columns(out, 'verdict')['TextLog:text']]
    assert 's1: done (predicates)' in said
    assert any(
        text.startswith('hold no chunk') for (text,) in columns(out, 'safety')['TextLog:text']
    )


def test_existing_file_is_never_overwritten(exported):
    from structrl_ros.recording.rerun_export import export_rerun

    _, bag, out = exported
    with pytest.raises(BagError, match='exists already'):
        export_rerun(bag, out)


def test_missing_library_is_one_line_that_says_what_to_install(
    tmp_path, synthetic_run, monkeypatch
):
    synthetic_run(chunks=1).write(tmp_path)
    monkeypatch.setitem(sys.modules, 'rerun', None)
    words = ['export', 'rerun', str(tmp_path), '--out', str(tmp_path / 'x.rrd')]
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, ParameterError)
    assert 'pip install -r requirements/rerun.txt' in str(result.exception)
