"""Placement cards: the first frame and the poses of every start, and the protocol for the arm."""

import json
from dataclasses import replace

import numpy as np
import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.evaluation.protocol import starts_of
from structrl_ros.recording.references import read_picture
from structrl_ros.recording.references import read_references
from structrl_ros.sim.placements import Placement
from structrl_ros.sim.placements import placements
from structrl_ros.sim.registry import make_body
from structrl_ros.training.placement_cards import write_cards
from structrl_ros.training.protocol_document import protocol_of_document
from structrl_ros.training.protocol_document import read_protocol

TASKS = ['kinematic/two_in_basket', 'kinematic/soup_in_basket']


def protocol():
    document = {'format': 1, 'name': 'cans', 'body': 'kinematic', 'tasks': TASKS, 'episodes': 3}
    return protocol_of_document(document)


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp('cards') / 'new'
    write_cards(protocol(), out, ['head', 'left_wrist'])
    return out


def test_every_start_has_one_card_with_the_frame_that_a_reset_gives(folder):
    cards = json.loads((folder / 'cards.json').read_text())['cards']
    assert [(c['task'], c['seed'], c['initial_state']) for c in cards] == [
        start.key[:3] for start in starts_of(protocol())
    ]
    body = make_body('kinematic')
    for card in cards:
        body.reset(card['task'], card['seed'], card['initial_state'])
        for role, name in card['pictures'].items():
            assert (read_picture(folder / name) == body.render(role)).all()


def test_poses_are_those_of_the_scene_in_metres_and_degrees(folder):
    card = json.loads((folder / 'cards.json').read_text())['cards'][0]
    body = make_body('kinematic')
    body.reset(card['task'], card['seed'], card['initial_state'])
    can = card['things'][0]
    assert can['position_m'] == pytest.approx(body.scene.cans[0], abs=6e-4)
    assert can['name'] in ('alphabet_soup_1', 'tomato_sauce_1')
    x, y, _ = body.scene.cans[0]
    assert f'at x {x:.3f} m, y {y:.3f} m, turned 0 degrees' in card['text']
    assert 'basket at x' in card['text']


def test_cards_are_references_of_their_role(folder):
    for role in ('head', 'left_wrist'):
        found = read_references(folder, role)
        assert len(found) == 6
        assert found[0].name == 'kinematic/two_in_basket, seed 0, initial state 0'
        assert 'alphabet soup 1 at x' in found[0].text
    with pytest.raises(ParameterError, match='no card with a picture of right_wrist'):
        read_references(folder, 'right_wrist')


def test_the_protocol_for_the_arm_shows_the_cards_in_the_order_of_the_starts(folder):
    arm = read_protocol(folder / 'arm.yaml')
    assert (arm.body, arm.success, arm.episodes) == ('arm', 'person', 3)
    cards = json.loads((folder / 'cards.json').read_text())['cards']
    shown = [start.card for start in starts_of(arm)]
    assert [card.text for card in shown] == [c['text'] for c in cards]
    assert [card.picture for card in shown] == [str(folder / c['pictures']['head']) for c in cards]


def test_the_page_needs_nothing_else(folder):
    page = (folder / 'index.html').read_text()
    assert page.count('src="data:image/png') == 12
    assert 'src="/' not in page
    assert 'http' not in page.replace('http-equiv', '')


@pytest.mark.parametrize(
    ('changes', 'roles', 'line'),
    [
        ({'body': 'arm'}, ['head'], 'cards are drawn from a simulated body'),
        ({}, ['nose'], 'kinematic has no camera nose; allowed: head, left_wrist'),
    ],
)
def test_what_has_no_cards_is_refused(tmp_path, changes, roles, line):
    with pytest.raises(ParameterError, match=line):
        write_cards(replace(protocol(), **changes), tmp_path, roles)


def test_turn_and_tilt_are_those_of_the_quaternion():
    half = np.radians(35.0) / 2.0
    flat = Placement('a', np.zeros(3), np.array([0.0, 0.0, np.sin(half), np.cos(half)]))
    assert (flat.turn_deg, flat.tilt_deg) == pytest.approx((35.0, 0.0))
    lying = Placement('a', np.zeros(3), np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]))
    assert lying.tilt_deg == pytest.approx(90.0)


def test_the_twin_tells_the_places_of_its_view():
    body = make_body('twin')
    body.reset('apple_in_bowl', 3, 0)
    found = {p.name: p for p in placements(body)}
    assert found['apple_1'].position == pytest.approx(body.view.objects[0, 0])
    assert len(found) == len(body.task.objects) + len(body.task.fixtures)


@pytest.mark.sim
@pytest.mark.slow
def test_libero_tells_places_in_the_frame_of_the_base():
    body = make_body('libero')
    body.reset('long/0', 0, 0)
    found = {p.name: p for p in placements(body)}
    soup, hand = found['alphabet_soup_1'], body.proprioception(0).ee_pose[:3]
    names = list(body.feature_names)
    first = names.index('thing_0_far_x')
    goal = body.environment.parsed_problem['goal_state'][0][1]
    off = found[goal].position - hand  # features tell (place - hand) / 0.3 m
    assert body.features()[first : first + 3] == pytest.approx(off / 0.3, abs=1e-5)
    assert 0.2 < soup.position[0] < 0.9
    body.close()
