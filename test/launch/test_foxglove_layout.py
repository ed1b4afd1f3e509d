"""The Foxglove layout names topics and fields of the contract, and shows every panel once."""

import json
import re
from pathlib import Path

import pytest

pytest.importorskip('structrl_msgs', reason='needs structrl_msgs: make install')

from structrl_ros.recording.message_types import message_types
from structrl_ros.wire.qos import TOPICS
from structrl_ros.wire.qos import type_name

pytestmark = pytest.mark.ros

LAYOUT = json.loads(
    (Path(__file__).parents[2] / 'launch/foxglove/structrl.json').read_text('utf-8')
)
#: Panels that every Foxglove has.
PANELS = {'Image', 'Plot', 'StateTransitions', 'RawMessages', 'DiagnosticSummary'}


def strings(value):
    """Every text in a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


PATHS = sorted({text for text in strings(LAYOUT['configById']) if text.startswith('/')})
TYPES = {(t if t.startswith('/') else f'/{t}'): type_name(t) for t in TOPICS}


def check_field(msgtype, path):
    """Fail unless a path such as `pose.position.x` or `position[3]` leads to a field."""
    for step in path:
        fields = dict(message_types().fielddefs[msgtype][1])
        name = re.sub(r'\[\d+\]$', '', step)
        assert name in fields, f'{msgtype} has no {name}; it has {sorted(fields)}'
        kind, detail = fields[name]
        is_list = kind.name in ('ARRAY', 'SEQUENCE')
        assert is_list == step.endswith(']'), step
        while isinstance(detail, tuple) and not isinstance(detail[0], str):
            detail = detail[0][1]
        msgtype = detail if isinstance(detail, str) else detail[0]


@pytest.mark.parametrize('path', PATHS)
def test_path_of_a_panel_is_a_topic_and_a_field_of_the_contract(path):
    topic, *fields = path.split('.')
    assert topic in TYPES, f'{topic} is no topic of the contract'
    check_field(TYPES[topic], fields)


def test_layout_shows_every_configured_panel_once():
    shown = [t for t in strings(LAYOUT['layout']) if '!' in t]
    assert sorted(shown) == sorted(LAYOUT['configById'])
    assert {panel.split('!')[0] for panel in shown} <= PANELS


def test_what_a_lab_looks_at_is_shown():
    shown = {path.split('.')[0] for path in PATHS}
    wanted = {'plan', 'subtask', 'safety', 'verdict', 'reward', 'progress', 'intervention'}
    assert {f'/{t}' for t in wanted} | {'/diagnostics', '/observation/head/image'} <= shown
