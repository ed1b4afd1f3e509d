"""Who steers a demonstration of pictures, and what LIBERO's expert shows."""

import numpy as np
import pytest

pytest.importorskip('torch')

from structrl_ros.sim.registry import make_body
from structrl_ros.training.diffusion_wheel import Pushes
from structrl_ros.training.diffusion_wheel import Turns
from structrl_ros.types import Subtask

pytestmark = pytest.mark.torch


def test_pushes_are_sparse_bounded_and_close_fingers_in_a_grasp_alone():
    label = np.array([0.2, 0, 0, 0, 0, 0, -1], dtype=np.float32)
    grasp, place = (Subtask('0', verb, verb, (), 0) for verb in ('grasp', 'place'))
    for subtask, closes in ((grasp, True), (place, False)):
        pushes = Pushes(np.random.default_rng(0), is_on=True)
        done = np.stack([pushes.steer(i % 8, label, subtask)[0] for i in range(4000)])
        share = (done != label).any(axis=1).mean()
        assert 0.1 < share < 0.4
        assert np.abs(done).max() <= 1.0
        assert (done[:, 6] > 0).any() == closes
    quiet = Pushes(np.random.default_rng(0), is_on=False)
    assert all((quiet.steer(i % 8, label, grasp)[0] == label).all() for i in range(100))


def test_policy_and_expert_take_turns_of_whole_chunks():
    class Pilot:
        asked = 0

        def act(self, seen, subtask, instruction):
            self.asked += 1
            return np.full((8, 7), 0.5, dtype=np.float32)

    pilot = Pilot()
    body = make_body('twin')
    body.reset('pack_lunch', 0, 0)
    turns = Turns(np.random.default_rng(0), pilot, body, ())
    label = np.zeros(7, dtype=np.float32)
    steps = [turns.steer(i % 8, label, Subtask('0', '', '', (), 0)) for i in range(800)]
    own = np.array([by_expert for _, by_expert in steps]).reshape(100, 8)
    assert (own == own[:, :1]).all()
    assert 20 < own[:, 0].sum() < 80
    assert pilot.asked == 100 - own[:, 0].sum()
    assert all((done == (0.0 if by_expert else 0.5)).all() for done, by_expert in steps)


@pytest.mark.slow
@pytest.mark.sim
def test_liberos_expert_shows_a_redrawn_scene_with_pictures():
    pytest.importorskip('libero')
    from structrl_ros.sim.libero.body import LiberoBody
    from structrl_ros.training.diffusion_demonstrator import PictureDemonstrator

    body = LiberoBody(image_size=32, picture_detail='light')
    shown_by = PictureDemonstrator(body, every=20, perturbed=0.0)
    try:
        first, second = shown_by.demonstrate('long/0', 1000), shown_by.demonstrate('long/0', 1001)
    finally:
        shown_by.close()
    assert first.success and second.success
    assert first.reached == 'place tomato sauce in basket'
    assert len(first.chunks.sentences) == 4
    assert first.chunks.images['head'].shape[1:] == (32, 32, 3)
    assert np.abs(first.chunks.targets[0] - second.chunks.targets[0]).max() > 1e-3
    grasped = first.chunks.sentence == 1
    assert np.linalg.norm(first.chunks.targets[~grasped], axis=1).min() < 0.08
