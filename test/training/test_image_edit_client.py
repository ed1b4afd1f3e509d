"""The image editor's client against a real HTTP server that refuses, hangs, errs and edits."""

import base64
import json
import socket

import numpy as np
import pytest

pytest.importorskip('httpx')

from image_edit_server import ImageEditServer
from image_edit_server import answered
from image_edit_server import image_file
from image_edit_server import tinted

from structrl_ros.errors import ParameterError
from structrl_ros.training.image_edit_budget import BudgetSpentError
from structrl_ros.training.image_edit_budget import RequestBudget
from structrl_ros.training.image_edit_client import EditorRefusedError
from structrl_ros.training.image_edit_client import EditorSettings
from structrl_ros.training.image_edit_client import EditorUnavailableError
from structrl_ros.training.image_edit_client import EditRequest
from structrl_ros.training.image_edit_client import ImageEditError
from structrl_ros.training.image_edit_client import ImageEditor
from structrl_ros.training.image_edit_picture import decode
from structrl_ros.training.image_edit_picture import enlarge

KEY = 'sk-very-secret'


def pictures(count=2, size=16):
    rng = np.random.default_rng(0)
    return tuple(rng.integers(0, 256, (size, size, 3), np.uint8) for _ in range(count))


REQUEST = EditRequest('make it red', pictures(), 7)


def settings(url, **more):
    return EditorSettings(base_url=url, model='tinter', **{'timeout_s': 60.0, **more})


def editor(url, **more):
    return ImageEditor(settings(url, **more), sleep=waits.append)


waits: list[float] = []


@pytest.fixture(autouse=True)
def no_waits():
    waits.clear()


def sequence(*answers):
    left = list(answers)
    return lambda form: left.pop(0) if len(left) > 1 else left[0]


def good(form):
    return answered(image_file(tinted(form.images[-1])))


def test_the_last_image_is_edited_and_all_arrive_as_they_were(monkeypatch):
    monkeypatch.setenv('EDIT_KEY', KEY)
    with ImageEditServer() as server:
        made = editor(
            server.url, key_variable='EDIT_KEY', fields=(('quality', 'low'),), seed_field='seed'
        )
        answer = made.edit(REQUEST)
        assert np.array_equal(decode(answer.content, (16, 16)), tinted(REQUEST.pictures[-1]))
        form = server.forms[0]
        assert form.path == '/v1/images/edits'
        assert form.names == ['image[]', 'image[]']
        assert all(map(np.array_equal, form.images, REQUEST.pictures))
        assert form.fields == {
            'model': 'tinter',
            'prompt': 'make it red',
            'n': '1',
            'size': '16x16',
            'quality': 'low',
            'seed': '7',
        }
        assert form.headers['Authorization'] == f'Bearer {KEY}'
        assert form.headers['X-Client-Request-Id'] == made.identifier(REQUEST)
        made.edit(EditRequest('make it red', pictures(1), 7))
        assert server.forms[1].names == ['image']
        made.close()
        made.close()


def test_identifier_names_all_that_is_asked():
    made = ImageEditor(settings('http://127.0.0.1:9/v1', seed_field='seed'))
    other = ImageEditor(settings('http://127.0.0.1:9/v1', fields=(('quality', 'low'),)))
    red, blue = pictures()
    asked = [
        EditRequest('make it red', (red, blue), 7),
        EditRequest('make it blue', (red, blue), 7),
        EditRequest('make it red', (blue, red), 7),
        EditRequest('make it red', (blue,), 7),
        EditRequest('make it red', (red, blue), 8),
    ]
    names = [made.identifier(request) for request in asked] + [other.identifier(asked[0])]
    assert len(set(names)) == len(names)
    assert made.identifier(asked[0]) == names[0]
    made.close()
    other.close()


@pytest.mark.parametrize(
    ('bad', 'line'),
    [
        ((429, 'slow down', {'Retry-After': '3'}), 'HTTP 429: slow down'),
        ((500, 'oh no'), 'HTTP 500: oh no'),
        ('cut', 'RemoteProtocolError'),
        ((200, 'nonsense'), 'the answer is no list of images: nonsense'),
        ((200, json.dumps({'data': []})), 'the answer holds no image; allowed'),
        ((200, json.dumps({'data': [{'b64_json': '*'}]})), 'the image is no valid base64'),
        (answered(b'no image'), 'the image cannot be read (UnidentifiedImageError)'),
        (answered(image_file(pictures()[0])[:200]), 'the image cannot be read (OSError)'),
    ],
)
def test_what_another_try_may_mend_is_tried_again(bad, line):
    with ImageEditServer(sequence(bad, bad, good(type('Form', (), {'images': pictures()})))) as s:
        made = editor(s.url, retries=2)
        assert made.edit(REQUEST).content
        assert len(s.forms) == 3
        assert len(waits) == 2
        if bad[0] == 429:
            assert waits == [3.0, 3.0]
        made.close()
    with ImageEditServer(sequence(bad)) as s:
        made = editor(s.url, retries=1)
        with pytest.raises(ImageEditError) as caught:
            made.edit(REQUEST)
        made.close()
        said = str(caught.value)
        assert said.startswith(f'image editor tinter at {s.url}: ')
        assert line in said
        assert said.endswith('(2 tries)')
        assert '\n' not in said
        is_of_server = bad == 'cut' or bad[0] in (429, 500)
        assert isinstance(caught.value, EditorUnavailableError) == is_of_server


def test_timeouts_and_closed_ports_are_one_line():
    with ImageEditServer(sequence('hang')) as server:
        made = editor(server.url, retries=0, timeout_s=0.2)
        with pytest.raises(EditorUnavailableError, match=r'no answer within 0\.2 s \(1 tries\)'):
            made.edit(REQUEST)
        made.close()
    with socket.socket() as closed:
        closed.bind(('127.0.0.1', 0))
        made = editor(f'http://127.0.0.1:{closed.getsockname()[1]}/v1', retries=1)
        with pytest.raises(EditorUnavailableError, match=r'ConnectError: .*refused'):
            made.edit(REQUEST)
        made.close()


@pytest.mark.parametrize(
    ('bad', 'kind', 'line'),
    [
        ((401, 'wrong key'), EditorRefusedError, 'HTTP 401: wrong key'),
        ((404, 'no such model'), EditorRefusedError, 'HTTP 404: no such model'),
        ((400, 'this is not allowed'), ImageEditError, 'HTTP 400: this is not allowed'),
        (
            answered(image_file(pictures(1, 24)[0])),
            ImageEditError,
            'the image is 24 x 24 px; allowed: 16 x 16, as it was sent',
        ),
        (
            (200, json.dumps({'data': [{'url': 'http://elsewhere'}]})),
            ImageEditError,
            'the answer holds an address; allowed: one image as b64_json',
        ),
    ],
)
def test_what_no_other_try_can_mend_is_not_tried_again(bad, kind, line):
    with ImageEditServer(sequence(bad)) as server:
        made = editor(server.url)
        with pytest.raises(ImageEditError, match=line) as caught:
            made.edit(REQUEST)
        made.close()
        assert type(caught.value) is kind
        assert len(server.forms) == 1


def test_the_key_is_in_no_error(monkeypatch):
    monkeypatch.setenv('OPENAI_API_KEY', KEY)
    for status in (400, 401, 500):
        with ImageEditServer(sequence((status, f'your key {KEY}\nis bad'))) as server:
            made = editor(server.url, retries=0)
            with pytest.raises(ImageEditError, match=r'your key \*\*\* is bad') as caught:
                made.edit(REQUEST)
            made.close()
            assert KEY not in str(caught.value)


def test_budget_counts_every_try_and_spaces_them():
    time_s = [100.0]

    def sleep(seconds):
        time_s[0] += seconds

    budget = RequestBudget(3, 30.0, clock=lambda: time_s[0], sleep=sleep)
    with ImageEditServer(sequence((500, 'oh no'))) as server:
        made = ImageEditor(settings(server.url, retries=9), before_try=budget.take, sleep=sleep)
        with pytest.raises(BudgetSpentError, match='budget of 3 requests is spent; run again'):
            made.edit(REQUEST)
        made.close()
        assert len(server.forms) == budget.sent == 3
        assert time_s[0] >= 104.0
    with pytest.raises(ParameterError, match='budget of 0 requests'):
        RequestBudget(0)


def test_pictures_grow_smoothly_and_come_back_close():
    rows = np.linspace(20, 230, 32).astype(np.uint8)
    picture = np.broadcast_to(rows[:, None, None], (1, 32, 32, 3)).copy()
    assert enlarge(picture, 0) is picture
    large = enlarge(picture, 128)
    assert large.shape == (1, 128, 128, 3)
    assert np.abs(enlarge(large, 32).astype(int) - picture).max() <= 4


def test_wrong_settings_are_one_line():
    for change, line in (
        ({'base_url': 'ftp://x'}, 'base_url is'),
        ({'base_url': 'http://me:secret@x/v1'}, 'holds a user or password'),
        ({'model': ''}, 'model is empty'),
        ({'timeout_s': 0}, 'timeout_s 0'),
        ({'fields': (('prompt', 'x'),)}, "field 'prompt' is set here"),
        ({'seed_field': 'size'}, "field 'size' is set here"),
    ):
        with pytest.raises(ParameterError, match=line):
            EditorSettings(**{'base_url': 'http://x/v1', 'model': 'm', **change})
    assert base64.b64encode(KEY.encode()).decode() not in repr(settings('http://x/v1'))
