"""overlay_node beside camera_node (a file) over a real ROS graph, and its page."""

import json

import numpy as np
import pytest
import yaml
from PIL import Image as Picture

pytest.importorskip('rclpy')
pytest.importorskip('structrl_msgs')
pytest.importorskip('cv2', reason='needs OpenCV: requirements/sensors.txt')

from overlay_graph import LIVE
from overlay_graph import ROLE
from overlay_graph import WANTED
from overlay_graph import overlay
from rclpy.parameter import Parameter

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.alignment import Overlay
from structrl_ros.nodes.overlay_references import references_of
from structrl_ros.training.placement_cards import write_cards
from structrl_ros.training.protocol_document import document_of_protocol
from structrl_ros.training.protocol_document import protocol_of_document
from structrl_ros.training.protocol_document import read_protocol
from structrl_ros.wire import topics
from structrl_ros.wire.image_codecs import image_from_message
from structrl_ros.wire.qos import TOPICS
from structrl_ros.wire.task_codecs import health_from_message

pytestmark = pytest.mark.ros


@pytest.fixture
def wanted(tmp_path):
    path = tmp_path / 'wanted.png'
    Picture.fromarray(WANTED).save(path)
    return str(path)


def set_parameters(node, **values):
    answers = node.set_parameters([Parameter(k, value=v) for k, v in values.items()])
    return [answer.successful for answer in answers]


def test_the_camera_is_heard_and_overlays_are_published_only_for_subscribers(tmp_path, wanted):
    topic = topics.overlay_topic(ROLE)
    with overlay(tmp_path, reference=wanted, rate_hz=60.0) as (node, looker):
        looker.look(topics.image_topic(ROLE))
        looker.wait(lambda: len(looker.heard[topics.image_topic(ROLE)]) >= 10)
        assert not node.camera.is_heard
        subscription = looker.look(topic)
        looker.wait(lambda: len(looker.heard[topic]) >= 3)
        assert node.camera.is_heard
        # In the executor's thread: it waits for the subscription just now.
        looker.executor.create_task(lambda: looker.node.destroy_subscription(subscription))
        looker.wait(lambda: not node.camera.is_heard)
    assert topic not in TOPICS  # no recorder subscribes
    message = looker.heard[topic][0]
    _, shown = image_from_message(message)
    assert (shown == Overlay(WANTED).draw(LIVE, 'blend', 0.5)).all()
    assert message.header.frame_id == 'head_camera_optical'
    stamps = [m.header.stamp for m in looker.heard[topics.image_topic(ROLE)]]
    assert message.header.stamp in stamps


def test_score_and_shift_are_told(tmp_path, wanted):
    score = topics.overlay_score_topic(ROLE)
    with overlay(tmp_path, reference=wanted) as (_, looker):
        looker.look(score)
        looker.look(topics.DIAGNOSTICS)
        looker.wait(lambda: looker.heard[score])

        def told():
            heard = [h for m in looker.heard[topics.DIAGNOSTICS] for h in health_from_message(m)]
            return next((h for h in heard if h[0] == 'overlay_node: head'), None)

        _, _, text, values = looker.wait(told)
    assert looker.heard[score][0].data == pytest.approx(Overlay(WANTED).match(LIVE).score)
    assert values['reference'] == 'wanted.png'
    assert float(values['worst']) < 0.7
    assert text.startswith('match 0.')


def test_mode_alpha_and_card_change_while_it_runs(tmp_path, wanted):
    topic = topics.overlay_topic(ROLE)
    with overlay(tmp_path, reference=wanted, rate_hz=60.0) as (node, looker):
        looker.look(topic)
        looker.wait(lambda: looker.heard[topic])
        assert set_parameters(node, mode='difference', alpha=1.0) == [True, True]
        want = Overlay(WANTED).draw(LIVE, 'difference', 1.0)
        looker.wait(lambda: (image_from_message(looker.heard[topic][-1])[1] == want).all())
        assert set_parameters(node, mode='negative') == [False]
        assert set_parameters(node, alpha=1.5) == [False]


def test_without_a_reference_the_first_picture_is_one(tmp_path):
    score = topics.overlay_score_topic(ROLE)
    with overlay(tmp_path) as (node, looker):
        looker.look(score)
        looker.wait(lambda: looker.heard[score])
    assert looker.heard[score][0].data == pytest.approx(1.0)
    assert node.cards.references[0].name == 'the first picture that was heard'


def test_a_reference_of_another_size_is_cut_and_scaled(tmp_path):
    path = tmp_path / 'wide.png'
    Picture.fromarray(np.hstack([LIVE, LIVE, LIVE]).repeat(2, 0).repeat(2, 1)).save(path)
    score = topics.overlay_score_topic(ROLE)
    with overlay(tmp_path, reference=str(path)) as (_, looker):
        looker.look(score)
        looker.wait(lambda: looker.heard[score])
    assert looker.heard[score][0].data > 0.95


def test_a_protocol_of_cards_and_its_evaluation_are_references(tmp_path):
    document = {'format': 1, 'name': 'cans', 'body': 'kinematic', 'episodes': 2}
    tasks = {'tasks': ['kinematic/soup_in_basket']}
    write_cards(protocol_of_document({**document, **tasks}), tmp_path / 'cards')
    protocol = tmp_path / 'cards' / 'arm.yaml'
    evaluation = tmp_path / 'evaluation'
    evaluation.mkdir()
    text = json.dumps({'protocol': document_of_protocol(read_protocol(protocol))})
    (evaluation / 'evaluation.json').write_text(text)
    drawn = references_of(str(tmp_path / 'cards'), ROLE)
    for place in (protocol, evaluation):
        found = references_of(str(place), ROLE)
        assert [r.name for r in found] == [
            'kinematic/soup_in_basket, card 1',
            'kinematic/soup_in_basket, card 2',
        ]
        assert [r.text for r in found] == [r.text for r in drawn]
        assert (found[1].picture == drawn[1].picture).all()
    plain = tmp_path / 'plain.yaml'
    plain.write_text(yaml.safe_dump({**document, **tasks}))
    with pytest.raises(ParameterError, match='no placement card with a picture; structrl'):
        references_of(str(plain), ROLE)


@pytest.mark.parametrize(
    ('name', 'line'),
    [('none.png', 'no such file or folder; allowed: a picture'), ('a.txt', 'is no picture')],
)
def test_what_is_no_reference_is_refused(tmp_path, name, line):
    (tmp_path / 'a.txt').write_text('text')
    with pytest.raises(ParameterError, match=line):
        references_of(str(tmp_path / name), ROLE)
