"""Trajectories, curves, baselines and the command of the VOC benchmark, on a set made by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from structrl_ros.cli.main import app
from structrl_ros.errors import CheckpointError
from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.grm_scores import VocFamily
from structrl_ros.ports import ProgressModel
from structrl_ros.progress.context import Provenance
from structrl_ros.progress.context import online_queries
from structrl_ros.progress.strip import Layout
from structrl_ros.training.counterfactual_set import EditRecord
from structrl_ros.training.counterfactual_set import SourceRecord
from structrl_ros.training.counterfactual_set import write_manifest
from structrl_ros.training.voc_curves import reference_queries
from structrl_ros.training.voc_curves import score
from structrl_ros.training.voc_curves import trace
from structrl_ros.training.voc_models import KnownProgress
from structrl_ros.training.voc_models import RobometerStandIn
from structrl_ros.training.voc_models import find_model
from structrl_ros.training.voc_sets import VocSets
from structrl_ros.training.voc_trajectories import read_trajectories

FRAMES, SIZE = 16, 16
LAYOUT = Layout(pre_panels=1, between_panels=1, grid=2, cell_px=SIZE)
ONCE = [['grasp-lift', 'cup', False]] * 6 + [['place-transfer', 'cup', False]] * 10
AGAIN = [[p, 'cup', False] for p in ('grasp-lift', 'place-transfer') * 2 for _ in range(4)]


def picture(level):
    return np.full((SIZE, SIZE, 3), level, np.uint8)


def edit_of(folder, name, operator, start, stop, level, changed=0.1):
    frames = list(range(start, stop))
    np.savez(
        folder / name / f'{operator}.npz',
        frames=np.array(frames),
        head=np.stack([picture(level + i) for i in frames]),
    )
    return EditRecord(
        operator=operator,
        group='robust' if operator == 'background_change' else 'negative',
        primitive='grasp-lift',
        target='cup',
        onset='first eligible frame',
        start=start,
        stop=stop,
        edited_frames=frames,
        changed_pixels=[changed] * len(frames),
        is_multi_stage=False,
        has_many_objects=False,
        seed=0,
        renderer='test',
        file=f'{name}/{operator}.npz',
    )


def record_of(folder, name, phases, split='test'):
    (folder / name).mkdir()
    np.savez(folder / name / 'source.npz', head=np.stack([picture(i) for i in range(FRAMES)]))
    edits = [
        edit_of(folder, name, 'empty_grasp', 5, FRAMES, 100),
        edit_of(folder, name, 'wrong_object', 5, 9, 130),
        edit_of(folder, name, 'background_change', 0, FRAMES, 160),
    ]
    return SourceRecord(
        episode=name,
        split=split,
        body='tabletop',
        task=name,
        instruction='put the cup on the plate',
        seed=0,
        initial_state=0,
        frames=FRAMES,
        roles=['head'],
        size_px=SIZE,
        phases=phases,
        file=f'{name}/source.npz',
        edits=edits,
    )


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp('set')
    records = [
        record_of(place, 'once', ONCE),
        record_of(place, 'again', AGAIN),
        record_of(place, 'trained', ONCE, split='train'),
    ]
    write_manifest(place, records)
    return place


@pytest.fixture(scope='module')
def shown(folder):
    return {t.name: t for t in read_trajectories(VocSets((folder,)), SIZE)}


def run(*words):
    return CliRunner().invoke(app, ['evaluate', 'grm', *map(str, words)])


def test_manifests_tell_the_family_and_no_training_episode_comes_in(shown):
    assert {name: t.family.value for name, t in shown.items()} == {
        'once': 'in-distribution',
        'once/empty_grasp': 'ood-negative',
        'once/wrong_object': 'ood-temporal',
        'once/background_change': 'ood-robust',
        'again': 'temporal',
        'again/empty_grasp': 'ood-temporal',
        'again/wrong_object': 'ood-temporal',
        'again/background_change': 'ood-temporal',
    }


def test_truth_falls_in_a_failure_and_comes_back_after_it(shown):
    g = np.arange(FRAMES) / (FRAMES - 1)
    np.testing.assert_allclose(shown['once/background_change'].truth, g)
    np.testing.assert_allclose(shown['once/empty_grasp'].truth[5:], -g[5:])
    recovers = shown['once/wrong_object']
    np.testing.assert_allclose(recovers.truth[5:9], -g[5:9])
    np.testing.assert_allclose(recovers.truth[9:], g[9:])
    assert recovers.shown[4] is recovers.source[4]
    assert recovers.shown[9] is recovers.source[9]
    assert recovers.shown[5].views.images[0, 0, 0, 0] == 135


def test_online_panels_hold_what_was_shown_and_never_the_future(shown):
    trajectory = shown['once/wrong_object']
    queries = online_queries(
        [frame.views for frame in trajectory.shown], LAYOUT, trajectory.source[-1].views
    )
    assert len(queries) == 3 * (FRAMES - 1)
    levels = [int(frame.views.images[0, 0, 0, 0]) for frame in trajectory.shown]
    for t in range(1, FRAMES):
        forward, backward, incremental = queries[3 * (t - 1) : 3 * t]
        assert {q.provenance for q in (forward, backward, incremental)} == {Provenance.ROLLOUT}
        for query in (forward, incremental):
            cells = [*cells_of(query.pre), *cells_of(query.between)]
            assert set(cells) <= set(levels[:t])
        assert not backward.pre.count
        assert not backward.between.count
        assert backward.before is trajectory.source[-1].views
        assert incremental.before is trajectory.shown[t - 1].views
    assert 135 in cells_of(queries[3 * 7].between)


def test_reference_panels_hold_the_source_alone(shown):
    trajectory = shown['once/wrong_object']
    queries = reference_queries(trajectory, LAYOUT)
    assert max(level for q in queries for level in cells_of(q.between)) < FRAMES
    assert queries[3 * 5].after is trajectory.shown[6].views
    assert queries[3 * 5].provenance is Provenance.REFERENCE
    assert queries[0].provenance is Provenance.EXPERT


def cells_of(panels):
    grid = panels.images.reshape(len(panels.images), 2, SIZE, 2, SIZE, 3)[:, :, 0, :, 0, 0]
    return grid.reshape(len(panels.images), 4)[panels.filled].tolist()


def test_the_true_progress_orders_every_frame(shown):
    for trajectory in shown.values():
        model = KnownProgress(trajectory)
        assert isinstance(model, ProgressModel)
        curve = trace(trajectory, model, LAYOUT)
        np.testing.assert_allclose(curve.potential, trajectory.truth, atol=1e-12)
        found = score(trajectory, curve)
        assert found.voc == pytest.approx(1.0)
        assert found.voc_incremental == pytest.approx(1.0)
        assert all(truth == said for truth, said in found.completions)


def test_a_progress_without_a_branch_does_not_order_a_failure(shown):
    trajectory = shown['once/empty_grasp']
    model = RobometerStandIn(trajectory)
    curve = trace(trajectory, model, LAYOUT)
    assert curve.potential.min() >= 0.0
    assert not curve.negative.any()
    voc = score(trajectory, curve).voc
    assert voc is not None
    assert voc < 0.95
    again = trace(trajectory, RobometerStandIn(trajectory), LAYOUT, context='reference')
    np.testing.assert_array_equal(again.potential, curve.potential)


def test_a_model_is_asked_without_panels_if_they_are_hidden(shown):
    class Watch:
        name = 'watch'
        counts: tuple[int, ...] = ()

        def hops(self, contexts):
            self.counts += tuple(q.pre.count + q.between.count for q in contexts)
            return np.zeros(len(contexts))

    seen, hidden = Watch(), Watch()
    trace(shown['once'], seen, LAYOUT)
    curve = trace(shown['once'], hidden, LAYOUT, hides_panels=True)
    assert max(seen.counts) == 1
    assert max(hidden.counts) == 0
    assert score(shown['once'], curve).voc is not None


def test_what_has_no_voc_is_left_out_with_its_reason(folder, shown):
    class Broken:
        name = 'broken'

        def hops(self, contexts):
            return np.full(len(contexts), np.nan)

    found = score(shown['once'], trace(shown['once'], Broken(), LAYOUT))
    assert (found.voc, found.excluded) == (None, 'a prediction was no number')
    assert found.completions == ()
    unseen = replace(shown['once'], fault='the edit is not seen')
    assert score(unseen, None).excluded == 'the edit is not seen'
    few = {t.name: t for t in read_trajectories(VocSets((folder,), every=15), SIZE)}
    assert few['once/wrong_object'].fault == 'no edited frame among those that are shown'
    assert few['once'].truth.tolist() == [0.0, 1.0]


def test_the_command_writes_numbers_and_a_page(folder, tmp_path):
    out = tmp_path / 'new'
    result = run('true', 'robometer', '--set', folder, '--paired', '--out', out)
    assert result.exit_code == 0, result.output
    assert 'robometer (second) less true (first), paired' in result.output
    document = json.loads((out / 'grm_benchmark.json').read_text())
    truth, robometer = document['models']
    assert [f['family'] for f in truth['families']] == [f.value for f in VocFamily]
    assert [round(f['mean'], 9) for f in truth['families']] == [1.0] * 5
    assert truth['completion']['accuracy'] == 1.0
    assert robometer['input'] == 'stand-in'
    families = {f['family']: f for f in document['differences'][0]['families']}
    assert families['ood-negative']['difference'] < 0.0
    page = (out / 'report.html').read_text()
    assert page.count('<svg') == 6
    assert 'http' not in page.split('</head>')[1].replace('http://www.w3.org/2000/svg', '')


def test_a_limit_is_spread_over_episodes_and_is_the_same_for_every_model(folder, tmp_path):
    sets = VocSets((folder,), limit=1)
    names = [t.name for t in read_trajectories(sets, SIZE)]
    assert names == [t.name for t in read_trajectories(sets, 2 * SIZE)]
    assert len(names) == len(VocFamily)
    records = [record_of(tmp_path, f'once {n}', ONCE) for n in range(4)]
    write_manifest(tmp_path, records)
    many = list(read_trajectories(VocSets((tmp_path,), limit=4), SIZE))
    for family in (VocFamily.IN_DISTRIBUTION, VocFamily.NEGATIVE, VocFamily.ROBUST):
        assert len({t.episode for t in many if t.family is family}) == 4


def test_mistakes_are_one_line(folder, tmp_path):
    def fault(*words):
        return str(run(*words).exception)

    assert 'allowed: train or test' in fault('true', '--set', folder, '--split', 'held')
    assert 'is in' in fault('true', '--set', folder, '--set', folder)
    assert 'no manifest' in fault('true', '--set', tmp_path)
    assert 'one arm' in fault('a=true', 'a=robometer', '--set', folder, '--paired')
    assert 'allowed: WHAT or ARM=WHAT' in fault('a=', '--set', folder)
    with pytest.raises(ParameterError, match='after a network alone'):
        find_model('true:static')
    train = json.loads((folder / 'manifest.json').read_text())
    train['episodes'] = train['episodes'][2:]
    (tmp_path / 'manifest.json').write_text(json.dumps(train))
    assert "no episodes of split 'test'" in fault('true', '--set', tmp_path)


@pytest.mark.torch
def test_checkpoints_of_both_layouts_are_asked_as_they_were_trained(folder, tmp_path):
    torch = pytest.importorskip('torch')
    from structrl_ros.models.grm.checkpoint import save_grm
    from structrl_ros.models.grm.config import GrmConfig
    from structrl_ros.models.grm.network import GrmNetwork

    panels = GrmConfig(view_px=16, cell_px=16, grid=2, width=32, heads=2, layers=1)
    static = replace(panels, pre_panels=0, between_panels=0)
    for name, config in (('panels', panels), ('static', static)):
        torch.manual_seed(0)
        save_grm(tmp_path / name, GrmNetwork(config).eval(), 'card')
    made = [find_model(f'{tmp_path}/{word}') for word in ('panels', 'static', 'panels:static')]
    assert [model.input for model in made] == ['panel', 'static', 'static']
    assert find_model('untrained').input == 'panel'
    trajectory = next(read_trajectories(VocSets((folder,)), 16))
    curves = [
        trace(trajectory, m.about(trajectory), m.layout, hides_panels=m.hides_panels) for m in made
    ]
    assert not np.allclose(curves[0].hops[2:, 0], curves[2].hops[2:, 0], atol=1e-7)
    np.testing.assert_allclose(curves[0].hops[:, 1], curves[2].hops[:, 1], atol=1e-5)
    with pytest.raises(CheckpointError):
        find_model(str(tmp_path / 'nothing'))
