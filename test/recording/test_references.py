"""References of initial states: pictures, the first frame of a bag, and what is none."""

import numpy as np
import pytest
from mismatch_bags import World
from mismatch_bags import write_world
from PIL import Image

from structrl_ros.errors import BagError
from structrl_ros.errors import ParameterError
from structrl_ros.recording.mismatch_signals import read_signals
from structrl_ros.recording.references import CARDS
from structrl_ros.recording.references import read_references
from structrl_ros.recording.references import scaled


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp('run')
    write_world(folder / 'bag', World(chunks=2, noise=5.0))
    return folder


def test_a_run_gives_its_first_frame_and_says_which_start_it_was(run):
    for place in (run, run / 'bag'):
        (found,) = read_references(place, 'head')
        assert (found.picture == read_signals(run / 'bag').pictures['head'][0]).all()
        assert found.text == 'a task, seed 0, initial state 0'


def test_a_bag_without_the_camera_is_refused(run):
    with pytest.raises(ParameterError, match='holds no picture of left_wrist in an episode'):
        read_references(run, 'left_wrist')


def test_a_picture_file_is_a_reference(tmp_path):
    picture = np.random.default_rng(0).integers(0, 255, (12, 16, 3)).astype(np.uint8)
    Image.fromarray(picture).save(tmp_path / 'a.png')
    (found,) = read_references(tmp_path / 'a.png', 'head')
    assert (found.picture == picture).all()
    with pytest.raises(ParameterError, match='no such file'):
        read_references(tmp_path / 'b.png', 'head')


def test_a_broken_document_of_cards_is_told_in_one_line(tmp_path):
    (tmp_path / CARDS).write_text('{"cards": [{}]}')
    with pytest.raises(BagError, match=r"cards.json cannot be read: KeyError\('pictures'\)"):
        read_references(tmp_path, 'head')


def test_a_picture_of_another_shape_is_cut_in_its_middle():
    wide = np.zeros((10, 40, 3), np.uint8)
    wide[:, 15:25] = 200
    assert (scaled(wide, 10, 10) == 200).all()
    assert scaled(wide, 80, 20).shape == (20, 80, 3)
