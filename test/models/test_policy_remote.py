"""RemotePolicy against a real websocket server that speaks openpi's protocol, and breaks it."""

import socket
import threading
import time

import numpy as np
import pytest

pytest.importorskip('openpi_client')
pytest.importorskip('websockets')

from openpi_client import msgpack_numpy
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.errors import StaleDataError
from structrl_ros.models.policies.remote import RemotePolicy
from structrl_ros.models.policies.remote import RemoteSettings
from structrl_ros.ports import Policy
from structrl_ros.types import Episode
from structrl_ros.types import Observation
from structrl_ros.types import Proprioception
from structrl_ros.types import Subtask

GRASP = Subtask('0', 'grasp the mug', 'grasp', ('mug',), 0)
EPISODE = Episode(1, 1, False, 'libero', 'long/0', 'put the mug away', 0, 0)
QUARTER_TURN = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
ARM = Proprioception(
    1,
    tuple(f'joint{i}' for i in range(7)),
    np.arange(7.0),
    np.zeros(7),
    np.array([0.4, 0.1, 0.3, *QUARTER_TURN]),
    np.array([0.04, 0.03]),
)
IMAGE = np.arange(20 * 40 * 3, dtype=np.uint32).reshape(20, 40, 3).astype(np.uint8)
SEEN = Observation(1, 1, ARM, {'head': IMAGE, 'left_wrist': IMAGE[::-1]})
ACTIONS = np.linspace(-0.9, 0.9, 70, dtype=np.float32).reshape(10, 7)


class Server:
    """Answers each request by `answer(request)`: a dictionary is packed, the rest is sent."""

    def __init__(self, answer, metadata=None):
        self.answer, self.metadata, self.requests, self.headers = answer, metadata, [], []
        self._server = serve(self._talk, '127.0.0.1', 0, compression=None, max_size=None)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.uri = f'ws://127.0.0.1:{self._server.socket.getsockname()[1]}'

    def _talk(self, connection):
        self.headers.append(connection.request.headers)
        metadata = {'name': 'test'} if self.metadata is None else self.metadata
        try:
            connection.send(msgpack_numpy.packb(metadata))
            while True:
                self.requests.append(msgpack_numpy.unpackb(connection.recv()))
                told = self.answer(self.requests[-1])
                if told is None:
                    return
                plain = isinstance(told, str | bytes)
                connection.send(told if plain else msgpack_numpy.packb(told))
        except ConnectionClosed:
            return

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()


def policy_of(uri, **settings):
    return RemotePolicy(RemoteSettings(uri=uri, chunk_length=8, **{'timeout_s': 2.0, **settings}))


def free_port():
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        return taken.getsockname()[1]


def test_the_server_gets_libero_s_keys_and_its_rows_come_back():
    with Server(lambda _: {'actions': ACTIONS, 'policy_timing': {'infer_ms': 3.0}}) as server:
        policy = policy_of(server.uri)
        assert isinstance(policy, Policy)
        policy.reset(EPISODE)
        assert policy.metadata == {'name': 'test'}
        actions = policy.act(SEEN, GRASP, 'put the mug away')
        policy.close()
        policy.close()
    np.testing.assert_array_equal(actions, ACTIONS[:8])
    assert actions.dtype == np.float32 and actions.flags.writeable
    request = server.requests[0]
    assert sorted(request) == [
        'observation/image',
        'observation/state',
        'observation/wrist_image',
        'prompt',
    ]
    assert request['prompt'] == 'put the mug away'
    picture = request['observation/image']
    assert picture.shape == (224, 224, 3) and picture.dtype == np.uint8
    assert not picture[:56].any() and picture[60:160].any() and not picture[168:].any()
    expected = [0.4, 0.1, 0.3, 0.0, 0.0, np.pi / 2, 0.04, -0.03]
    np.testing.assert_allclose(request['observation/state'], expected, atol=1e-6)
    assert request['observation/state'].dtype == np.float32


def test_keys_parts_sentence_and_header_are_as_set():
    with Server(lambda _: {'actions': ACTIONS.tolist()}) as server:
        policy = policy_of(
            server.uri,
            images={'left_wrist': 'wrist'},
            image_size=None,
            state_key='state',
            state_parts=('joints', 'width', 'quaternion', 'position'),
            position_offset=(-0.4, 0.0, 0.7),
            prompt='subtask',
            prompt_key='task',
            api_key='open',
        )
        assert policy.spec.roles == ('left_wrist',)
        np.testing.assert_allclose(policy.act(SEEN, GRASP, ''), ACTIONS[:8])
        policy.close()
    request = server.requests[0]
    np.testing.assert_array_equal(request['wrist'], IMAGE[::-1])
    expected = [*range(7), 0.07, *QUARTER_TURN, 0.0, 0.1, 1.0]
    np.testing.assert_allclose(request['state'], expected, atol=1e-6)
    assert request['task'] == 'grasp the mug'
    assert server.headers[0]['Authorization'] == 'Api-Key open'
    assert 'open' not in repr(policy_of(server.uri, api_key='open')._settings)


def test_a_server_that_is_down_is_one_line_and_is_reached_when_it_is_up_again():
    with Server(lambda _: {'actions': ACTIONS}) as server:
        policy = policy_of(server.uri)
        policy.act(SEEN, GRASP, '')
    with pytest.raises(PolicyError, match=f'policy server {server.uri}: ') as told:
        policy.act(SEEN, GRASP, '')
    assert '\n' not in str(told.value)
    with pytest.raises(PolicyError, match='refused'):
        policy.reset(EPISODE)
    with Server(lambda _: {'actions': ACTIONS}) as again:
        policy._connection._uri = again.uri
        assert policy.act(SEEN, GRASP, '').shape == (8, 7)
        policy.close()


@pytest.mark.parametrize(
    ('answer', 'words'),
    [
        ({'actions': ACTIONS[:7]}, r'shape \(7, 7\); allowed: \(8 or more, 7\)'),
        ({'actions': ACTIONS[:, :6]}, r'shape \(10, 6\); allowed'),
        ({'actions': ACTIONS[0]}, r'shape \(7,\); allowed'),
        ({'actions': np.full((10, 7), np.nan)}, 'NaN or infinity; allowed: finite numbers'),
        ({'actions': 'left'}, 'actions that are no array'),
        ({'action': ACTIONS, 'b': 4}, r"without actions; got: \['action', 'b'\]"),
        ({3: ACTIONS}, 'no msgpack: int is not allowed'),
        ({b'__ndarray__': 1}, 'no msgpack'),
        ([1, 2], 'sent list as answer; allowed: a dictionary'),
        (b'\xc1 no msgpack', 'sent answer that is no msgpack'),
        (b'', 'sent answer that is no msgpack'),
        ('Traceback:\n  line\nKeyError: prompt\n', 'reports: KeyError: prompt'),
        (None, 'received 1000'),
    ],
)
def test_what_a_server_must_not_answer_is_told_and_the_next_call_works(answer, words):
    answers = [answer, {'actions': ACTIONS}]
    with Server(lambda _: answers.pop(0)) as server:
        policy = policy_of(server.uri)
        with pytest.raises(PolicyError, match=words) as told:
            policy.act(SEEN, GRASP, '')
        assert '\n' not in str(told.value)
        np.testing.assert_array_equal(policy.act(SEEN, GRASP, ''), ACTIONS[:8])
        policy.close()


def test_a_late_answer_is_never_taken_for_the_next_one():
    waits = [0.5, 0.0]

    def answer(_):
        time.sleep(waits.pop(0))
        return {'actions': ACTIONS * len(waits)}

    with Server(answer) as server:
        policy = policy_of(server.uri, timeout_s=0.1)
        with pytest.raises(PolicyError, match=r'no answer within 0\.1 s'):
            policy.act(SEEN, GRASP, '')
        np.testing.assert_array_equal(policy.act(SEEN, GRASP, ''), ACTIONS[:8] * 0)
        policy.close()


def test_a_server_that_never_greets_is_given_up():
    with socket.socket() as silent:
        silent.bind(('127.0.0.1', 0))
        silent.listen()
        uri = f'ws://127.0.0.1:{silent.getsockname()[1]}'
        began = time.monotonic()
        with pytest.raises(PolicyError, match='timed out'):
            policy_of(uri, connect_timeout_s=0.2).reset(EPISODE)
        assert time.monotonic() - began < 3.0


def test_a_server_that_greets_in_another_way_is_no_policy_server():
    told = pytest.raises(PolicyError, match='sent list as metadata; allowed: a dictionary')
    with Server(lambda _: None, metadata=['hello']) as server, told:
        policy_of(server.uri).reset(EPISODE)


def test_actions_beyond_the_body_s_range_are_clipped():
    with Server(lambda _: {'actions': ACTIONS * 3}) as server:
        policy = policy_of(server.uri)
        np.testing.assert_array_equal(policy.act(SEEN, GRASP, ''), np.clip(ACTIONS[:8] * 3, -1, 1))
        policy.close()


def test_an_observation_without_an_image_or_the_arm_s_state_is_told():
    policy = policy_of(f'ws://127.0.0.1:{free_port()}')
    with pytest.raises(StaleDataError, match="image of role 'left_wrist', got none"):
        policy.act(Observation(1, 1, ARM, {'head': IMAGE}), GRASP, '')
    with pytest.raises(StaleDataError, match="arm's state, got none"):
        policy.act(Observation(1, 1, None, SEEN.images), GRASP, '')


@pytest.mark.parametrize(
    ('settings', 'words'),
    [
        ({'uri': 'http://host'}, "uri is 'http://host'; allowed: ws://"),
        ({'chunk_length': 0}, 'chunk_length is 0'),
        ({'images': {'tail': 'a'}}, r"images name \['tail'\]; allowed roles"),
        ({'state_parts': ('wings',)}, r"state_parts name \['wings'\]; allowed"),
        ({'prompt': 'poem'}, "prompt is 'poem'; allowed: instruction, subtask"),
        ({'timeout_s': 0.0}, 'timeout_s is 0.0; allowed'),
        ({'connect_timeout_s': np.inf}, 'connect_timeout_s is inf'),
    ],
)
def test_settings_out_of_range_are_refused(settings, words):
    with pytest.raises(ParameterError, match=words):
        RemoteSettings(**{'uri': 'ws://host:1', 'chunk_length': 8, **settings})
