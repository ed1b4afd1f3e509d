"""Image-edited sets: what is asked, what is kept, what a killed or refused run leaves."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('httpx')

import typer
from image_edit_server import ImageEditServer
from image_edit_server import answered
from image_edit_server import image_file
from image_edit_server import tinted
from typer.testing import CliRunner

from structrl_ros.cli.data_image_edit import image_edit
from structrl_ros.cli.main import app as whole_app
from structrl_ros.errors import ParameterError
from structrl_ros.progress.manipulation import Primitive
from structrl_ros.progress.operators import Operator
from structrl_ros.training.counterfactual_set import SourceRecord
from structrl_ros.training.counterfactual_set import read_manifest
from structrl_ros.training.counterfactual_set import read_pictures
from structrl_ros.training.counterfactual_set import write_manifest
from structrl_ros.training.image_edit_client import EditorRefusedError
from structrl_ros.training.image_edit_client import ImageEditError
from structrl_ros.training.image_edit_plan import EditOptions
from structrl_ros.training.image_edit_plan import plan_image_edits
from structrl_ros.training.image_edit_plan import plan_requests
from structrl_ros.training.image_edit_plan import reference_frames
from structrl_ros.training.image_edit_prompt import Change
from structrl_ros.training.image_edit_prompt import Hold
from structrl_ros.training.image_edit_prompt import Shown
from structrl_ros.training.image_edit_prompt import make_edit_prompt
from structrl_ros.training.image_edit_run import ImageEditRun
from structrl_ros.training.image_edit_set import longest_run
from structrl_ros.training.image_edit_words import draw_variant

app = typer.Typer()  # the whole one takes long to build
app.command('image-edit')(image_edit)
app.callback()(lambda: None)

ROLES = ['head', 'left_wrist']
FRAMES, SIZE = 8, 16


def source(name='bench-cup-0', instruction='put the red cup on the plate', phases=True):
    primitives = [('grasp-lift', False)] * 3 + [('place-transfer', False)] * 3
    primitives += [('place-transfer', True)] * 2
    return SourceRecord(
        episode=name,
        split='train',
        body='bench',
        task='cup',
        instruction=instruction,
        seed=0,
        initial_state=0,
        frames=FRAMES,
        roles=ROLES,
        size_px=SIZE,
        phases=[[p, 'red_cup_1', r] for p, r in primitives] if phases else [],
        file=f'{name}/source.npz',
        edits=[],
    )


def recorded(folder, *sources):
    """Write a set of sources without edits, as a recording of a real arm would be."""
    rng = np.random.default_rng(1)
    for record in sources:
        (folder / record.episode).mkdir(parents=True)
        shape = (FRAMES, SIZE, SIZE, 3)
        np.savez(folder / record.file, **{r: rng.integers(0, 256, shape, np.uint8) for r in ROLES})
    write_manifest(folder, sources)
    return folder


def command(sets, out, url, *more):
    words = ['image-edit', sets, '--out', out, '--base-url', url, '--model', 'tinter']
    return CliRunner().invoke(app, [str(w) for w in (*words, '--retries', 0, *more)])


def files(folder):
    return {
        p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob('*')) if p.is_file()
    }


@pytest.fixture(scope='module')
def sets(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp('image_edit') / 'bench', source())


@pytest.fixture(scope='module')
def made(sets):
    out = sets.parent / 'edited'
    with ImageEditServer() as server:
        result = command(sets, out, server.url, '--references', 3, '--max-requests', 500)
        assert result.exit_code == 0, result.output
        return out, server.forms, result.output


def test_a_set_is_edited_for_real_with_full_provenance(sets, made):
    out, forms, output = made
    [record] = read_manifest(out)
    pictures = read_pictures(out, record.file)
    assert dataclasses.replace(record, edits=[]) == source()
    assert (out / record.file).read_bytes() == (sets / record.file).read_bytes()
    assert [edit.operator for edit in record.edits] == [o.value for o in Operator]
    count = 0
    for edit in record.edits:
        edited = read_pictures(out, edit.file)
        assert edit.edited_frames == list(range(edit.start, edit.stop))
        assert edit.renderer == 'image-edit:tinter'
        lines = [json.loads(line) for line in (out / edit.requests).read_text().splitlines()]
        assert [(x['frame'], x['view']) for x in lines] == [
            (i, role) for i in edit.edited_frames for role in ROLES
        ]
        assert len({x['variant'] for x in lines}) == 1
        for line in lines:
            n, i = edit.edited_frames.index(line['frame']), line['frame']
            assert np.array_equal(edited[line['view']][n], tinted(pictures[line['view']][i]))
            assert line['episode'] == record.episode
            assert (line['operator'], line['group']) == (edit.operator, edit.group)
            assert (line['model'], line['prompt_version']) == ('tinter', 1)
            assert line['reference_frames'] == list(reference_frames(i, FRAMES, 3))
            assert len(line['request_sha256']) == len(line['response_sha256']) == 64
            assert line['generated_at'].endswith('+00:00')
            assert line['source_file'] == record.file
        assert min(edit.changed_pixels) > 0.1
        count += len(lines)
    assert count == len(forms)
    assert f'{count} views: 0 answered before, {count} now, 0 not (0 failed)' in output
    identifiers = [
        json.loads(p.read_text())['record']['request_id'] for p in (out / 'answers').iterdir()
    ]
    assert len(set(identifiers)) == count


def test_views_of_a_state_are_told_the_same_change(made):
    prompts = {}
    for form in made[1]:
        prompts.setdefault(tuple(form.fields['prompt'].split('\n\n')[:5]), []).append(form)
    for forms in prompts.values():
        views = [form.fields['prompt'].split('\n\n')[5] for form in forms]
        assert len(forms) == 2
        assert sum("robot's left wrist" in view for view in views) == 1
        assert sum('whole scene' in view for view in views) == 1


def test_each_view_is_shown_its_own_camera_in_order_of_time(sets, made):
    pictures = read_pictures(sets, source().file)
    for form in made[1]:
        role = 'left_wrist' if "robot's left wrist" in form.fields['prompt'] else 'head'
        frame = int(form.fields['prompt'].split('The image to edit is frame ')[1].split()[0])
        wanted = [*reference_frames(frame, FRAMES, 3), frame]
        assert all(map(np.array_equal, form.images, (pictures[role][i] for i in wanted)))


def test_what_was_answered_is_not_sent_again(sets, made):
    out = made[0]
    before = files(out)
    with ImageEditServer() as server:  # at another address than before
        result = command(sets, out, server.url, '--references', 3)
        assert result.exit_code == 0, result.output
        assert not server.forms
    assert '0 requests sent' in result.output
    assert files(out).keys() == before.keys()
    assert {k: v for k, v in files(out).items() if k.suffix != '.npz'} == {
        k: v for k, v in before.items() if k.suffix != '.npz'
    }


def test_a_spent_budget_loses_nothing_and_goes_on(sets, tmp_path):
    with ImageEditServer() as server:
        words = ('--operator', 'non_release', '--references', 0)
        first = command(sets, tmp_path / 'out', server.url, *words, '--max-requests', 3)
        assert first.exit_code == 0
        assert 'stopped: the budget of 3 requests is spent; run again to go on' in first.output
        [edit] = read_manifest(tmp_path / 'out')[0].edits
        assert edit.edited_frames == [6]  # both views of it came
        second = command(sets, tmp_path / 'out', server.url, *words)
        assert second.exit_code == 0
        assert '4 views: 3 answered before, 1 now, 0 not (0 failed)' in second.output
        assert len(server.forms) == 4
    [edit] = read_manifest(tmp_path / 'out')[0].edits
    assert edit.edited_frames == [6, 7]


def test_failures_are_lines_and_the_longest_whole_run_is_kept(sets, tmp_path):
    def respond(form):
        wrist = "robot's left wrist" in form.fields['prompt']
        if wrist and 'is frame 2 of' in form.fields['prompt']:
            return 400, 'rejected by the safety system'
        return answered(image_file(tinted(form.images[-1])))

    with ImageEditServer(respond) as server:
        words = ('--operator', 'background_change', '--references', 0)
        result = command(sets, tmp_path / 'out', server.url, *words)
        assert result.exit_code == 0, result.output
        line = 'failed: bench-cup-0 background_change frame 2 left_wrist: image editor tinter at'
        assert line in result.output
        assert 'HTTP 400: rejected by the safety system' in result.output
        [edit] = read_manifest(tmp_path / 'out')[0].edits
        assert edit.edited_frames == [3, 4, 5, 6, 7]
        assert len(edit.changed_pixels) == 5
        server.respond = lambda form: answered(image_file(tinted(form.images[-1])))
        sent = len(server.forms)
        assert command(sets, tmp_path / 'out', server.url, *words).exit_code == 0
        assert len(server.forms) == sent + 1
    [edit] = read_manifest(tmp_path / 'out')[0].edits
    assert edit.edited_frames == list(range(FRAMES))


def test_a_server_that_is_dead_or_refuses_stops_the_run_after_writing_the_set(sets, tmp_path):
    for status, kind, most in ((503, ImageEditError, 5), (401, EditorRefusedError, 1)):
        out = tmp_path / str(status)
        with ImageEditServer(lambda form, status=status: (status, 'no')) as server:
            result = command(sets, out, server.url, '--references', 0, '--workers', 1)
            assert type(result.exception) is kind
            assert len(server.forms) <= most + 1
        assert read_manifest(out)[0].edits == []


def test_what_earlier_runs_made_stays_when_another_operator_or_set_comes(sets, tmp_path):
    others = recorded(tmp_path / 'others', source('bench-cup-1'))
    out = tmp_path / 'out'
    with ImageEditServer() as server:
        for operator, folder in (('non_release', sets), ('empty_grasp', sets)):
            words = ('--operator', operator, '--references', 0)
            assert command(folder, out, server.url, *words).exit_code == 0
        assert command(others, out, server.url, *words).exit_code == 0
        [first, second] = read_manifest(out)
        assert [edit.operator for edit in first.edits] == ['empty_grasp', 'non_release']
        assert [edit.operator for edit in second.edits] == ['empty_grasp']
        assert (second.episode, second.split) == ('bench-cup-1', 'train')
    moved = recorded(tmp_path / 'moved', source())
    pictures = {r: np.zeros((FRAMES, SIZE, SIZE, 3), np.uint8) for r in ROLES}
    np.savez(moved / source().file, **pictures)
    result = command(moved, out, 'http://127.0.0.1:9/v1')
    assert 'has another bench-cup-0 than' in str(result.exception)


def test_a_stopped_run_keeps_what_was_answered(sets, tmp_path, monkeypatch):
    words = ('--operator', 'non_release', '--references', 0, '--workers', 1)
    with ImageEditServer() as server:
        with monkeypatch.context() as patch:
            patch.setattr(ImageEditRun, '_take', stop)
            result = command(sets, tmp_path, server.url, *words)
        assert result.exit_code == 130
        assert 'what was answered is kept, and the same command goes on' in result.output
        kept = len(list((tmp_path / 'answers').iterdir()))
        assert kept >= 1
        assert command(sets, tmp_path, server.url, *words).exit_code == 0
        assert len(server.forms) == 4
    assert read_manifest(tmp_path)[0].edits[0].edited_frames == [6, 7]


def stop(self, future, record):
    raise KeyboardInterrupt


def test_a_cut_answer_is_asked_for_again(sets, tmp_path):
    words = ('--operator', 'non_release', '--references', 0)
    with ImageEditServer() as server:
        assert command(sets, tmp_path, server.url, *words).exit_code == 0
        broken = sorted((tmp_path / 'answers').iterdir())[0]
        broken.write_text(broken.read_text()[:300])
        assert command(sets, tmp_path, server.url, *words).exit_code == 0
        assert len(server.forms) == 5


def test_enlarged_pictures_come_back_at_the_size_of_the_set(sets, tmp_path):
    with ImageEditServer() as server:
        words = ('--operator', 'non_release', '--references', 1, '--sent-px', 48)
        assert command(sets, tmp_path, server.url, *words).exit_code == 0
        assert {form.images[-1].shape for form in server.forms} == {(48, 48, 3)}
        assert {form.fields['size'] for form in server.forms} == {'48x48'}
    [record] = read_manifest(tmp_path)
    assert read_pictures(tmp_path, record.edits[0].file)['head'].shape == (2, SIZE, SIZE, 3)


def test_dry_run_counts_and_sends_nothing(sets, tmp_path):
    result = command(sets, tmp_path / 'none', 'http://127.0.0.1:9/v1', '--dry-run')
    assert result.exit_code == 0, result.output
    assert 'requests, none sent' in result.output
    assert 'This is an edit of an image' in result.output
    assert (
        '--max-requests' in CliRunner().invoke(whole_app, ['data', 'image-edit', '--help']).output
    )
    assert not (tmp_path / 'none').exists()


def test_mistakes_are_one_line(sets, tmp_path):
    (tmp_path / 'full').mkdir()
    (tmp_path / 'full' / 'manifest.json').write_text('{}')
    url = 'http://127.0.0.1:9/v1'
    for more, line in (
        (('--operator', 'melt'), "operator 'melt'; allowed: wrong_object, "),
        (('--field', 'quality'), "field 'quality'; allowed: NAME=VALUE"),
    ):
        result = command(sets, tmp_path / 'new', url, *more)
        assert isinstance(result.exception, ParameterError)
        assert line in str(result.exception)
    result = command(sets, tmp_path / 'full', url)
    assert 'not empty; allowed: a new or empty folder, or one of' in str(result.exception)
    twice = command(sets, tmp_path / 'new', url, sets)
    assert 'allowed: each episode once' in str(twice.exception)


def test_without_phases_onsets_follow_progress():
    options = EditOptions()
    plans = {p.edit.operator: p for p in plan_image_edits('bench', source(phases=False), options)}
    assert plans[Operator.EMPTY_GRASP].edit.start == 2  # p = 2/7 is the first from 0.18
    assert plans[Operator.NON_RELEASE].edit.start == 6  # p = 6/7 is the first from 0.75
    assert plans[Operator.BACKGROUND_CHANGE].edit.frames == range(FRAMES)
    assert set(plans[Operator.NON_RELEASE].holds) == {Hold.UNKNOWN}
    assert plans[Operator.NON_RELEASE].targets[6] == 'red cup'


def test_what_an_operator_brings_is_drawn_once_and_never_what_the_task_names():
    variants = {draw_variant(Operator.WRONG_OBJECT, 'put the red cup down', s) for s in range(60)}
    assert len(variants) > 4
    assert not any('red' in variant.split() for variant in variants)
    assert draw_variant(Operator.NON_RELEASE, 'put the cup down', 0) == ''
    again = [plan_image_edits('bench', source(), EditOptions(seed=s)) for s in (0, 0, 1)]
    assert [p.variant for p in again[0]] == [p.variant for p in again[1]]
    assert [p.seed for p in again[0]] != [p.seed for p in again[2]]


def test_prompt_holds_the_blocks_of_the_paper():
    shown = Shown(role='head', frame=4, references=(0, 2, 7), total=8, size_px=16)
    texts = []
    for operator in Operator:
        for hold in Hold:
            change = Change(
                instruction='put the red cup on the plate',
                target='red cup',
                target_colour='red',
                primitive=Primitive.PLACE_TRANSFER,
                operator=operator,
                variant='a thing',
                hold=hold,
            )
            text = make_edit_prompt(change, shown)
            assert len(text.split('\n\n')) == 8
            assert 'Images 1 to 3 are references' in text
            assert 'Image 4, the last one, is the only image to edit' in text
            assert 'frame 4 of 8' in text
            assert 'its frames 0, 2, 7' in text
            assert 'names the colour red' in text
            assert ('task goes wrong' in text) == operator.is_negative
            assert ('about looks alone' in text) == (not operator.is_negative)
            assert '{' not in text
            texts.append(text)
    assert len(set(texts)) >= 4 + 3 * 3  # three negative operators say other things by hold


def test_references_are_spread_rise_and_leave_out_the_queried_frame():
    assert reference_frames(3, 8, 13) == (0, 1, 2, 4, 5, 6, 7)
    assert reference_frames(0, 8, 0) == ()
    picks = reference_frames(20, 40, 13)
    assert len(picks) == 13
    assert list(picks) == sorted(set(picks))
    assert (picks[0], picks[-1]) == (0, 39)
    assert 20 not in picks


def test_longest_run_has_no_gap():
    assert longest_run([]) == range(0)
    assert longest_run([1, 2, 4, 5, 6, 9]) == range(4, 7)
    assert longest_run([3, 4, 6, 7]) == range(3, 5)


def test_requests_of_a_source_are_views_of_its_pictures_and_copy_nothing():
    pictures = {r: np.zeros((FRAMES, SIZE, SIZE, 3), np.uint8) for r in ROLES}
    plan = plan_image_edits('bench', source(), EditOptions())[0]
    asked = list(plan_requests(plan, pictures, 13))
    assert len(asked) == 2 * len(plan.edit.frames)
    for one in asked:
        assert all(np.shares_memory(p, pictures[one.role]) for p in one.request.pictures)


def test_edited_sets_are_read_by_the_loader_of_the_progress_model(made):
    from structrl_ros.progress.strip import Layout
    from structrl_ros.training.grm_episodes import load_episodes

    [episode] = load_episodes([made[0]], 'train', Layout(cell_px=16), SIZE)
    assert set(episode.edits) == {o.value for o in Operator}
    assert Path(made[0], 'manifest.json').is_file()
