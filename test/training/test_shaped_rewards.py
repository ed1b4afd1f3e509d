"""Shaping adds a potential's differences to a reward, and nothing leaks out of an episode."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip('torch')

from drawn_rollouts import draw_rollouts
from drawn_rollouts import small_flow

from structrl_ros.errors import ParameterError
from structrl_ros.progress.frames import Frame
from structrl_ros.progress.hop import signed_hop
from structrl_ros.progress.online import EpisodeProgress
from structrl_ros.progress.online import OnlineModel
from structrl_ros.progress.strip import Layout
from structrl_ros.progress.views import make_views
from structrl_ros.rewards.shaping import shaping_term
from structrl_ros.training.grm_potential import AskedGrm
from structrl_ros.training.grm_potential import GrmPotential
from structrl_ros.training.reward_configurations import find_reward
from structrl_ros.training.reward_source import StructuredRewards
from structrl_ros.training.shaped_rewards import SHAPING_TERM
from structrl_ros.training.shaped_rewards import ShapedRewards

pytestmark = pytest.mark.torch

LENGTHS, SUCCESS = [5, 3, 4], [True, False, True]
LEVELS = 20


@pytest.fixture(scope='module')
def rollouts():
    return draw_rollouts(small_flow(), LENGTHS, SUCCESS)


@pytest.fixture
def phi():
    values = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 6))
    values[:, 0] = 0.0
    return values


def terminal():
    return StructuredRewards({}, find_reward('terminal'))


def test_only_a_truncated_episode_keeps_its_last_potential(rollouts, phi):
    plain = terminal()(rollouts)
    paid = ShapedRewards(terminal(), lambda _: phi, gamma=1.0)(rollouts)
    gained = (paid.rewards - plain.rewards).sum(axis=1)
    assert np.allclose(gained, [0.0, phi[1, 3], 0.0], rtol=0, atol=1e-12)


def test_a_discounted_sum_of_the_terms_is_that_of_the_ends(rollouts, phi):
    gamma = 0.9
    paid = ShapedRewards(terminal(), lambda _: phi, gamma=gamma)(rollouts)
    terms = paid.rewards - terminal()(rollouts).rewards
    sums = (terms * gamma ** np.arange(5)).sum(axis=1)
    assert np.allclose(sums, [0.0, gamma**3 * phi[1, 3], 0.0], rtol=0, atol=1e-12)


def test_the_ledger_has_one_payment_more_and_sums_to_the_reward(rollouts, phi):
    paid = ShapedRewards(terminal(), lambda _: phi, gamma=0.99)(rollouts)
    assert paid.names == ((SHAPING_TERM,),) * 3
    assert np.allclose(paid.payments.sum(axis=2) + paid.terminal, paid.rewards, rtol=0, atol=1e-12)
    assert not paid.rewards[~rollouts.valid].any()
    assert SHAPING_TERM in paid.terms()


def test_the_potential_of_an_episode_pays_in_no_other(rollouts, phi):
    before = ShapedRewards(terminal(), lambda _: phi, gamma=0.99)(rollouts).rewards
    changed = phi.copy()
    changed[1, 1:] += 0.5
    after = ShapedRewards(terminal(), lambda _: changed, gamma=0.99)(rollouts).rewards
    assert np.array_equal(before[[0, 2]], after[[0, 2]])
    assert not np.array_equal(before[1], after[1])


def test_no_number_and_no_discount_are_refused(rollouts, phi):
    phi[2, 2] = np.nan
    with pytest.raises(ParameterError, match='finite'):
        ShapedRewards(terminal(), lambda _: phi, gamma=0.99)(rollouts)
    with pytest.raises(ParameterError, match='gamma'):
        ShapedRewards(terminal(), lambda _: phi, gamma=1.1)


class BrightnessModel:
    """Knows the progress of a picture by its brightness, as a perfect GRM would."""

    name = 'brightness'

    def __init__(self):
        self.asked = 0

    def hops(self, contexts):
        self.asked += len(contexts)
        ends = np.array([[q.before.images[0].mean(), q.after.images[0].mean()] for q in contexts])
        phi = np.rint(ends) / LEVELS
        none = np.zeros(len(phi), bool)
        return np.array(signed_hop(phi[:, 0], phi[:, 1], none, none))


@pytest.fixture
def pictured(rollouts):
    """Rollouts whose pictures grow brighter in even steps, 0 to LEVELS over 5 chunks."""
    levels = np.zeros((3, 6), np.uint8)
    levels[:] = np.linspace(0, LEVELS, 6)
    images = np.broadcast_to(levels[..., None, None, None], (3, 6, 16, 16, 3)).copy()
    return dataclasses.replace(rollouts, images={'head': images})


@pytest.mark.parametrize('has_goal', [True, False])
def test_the_potential_is_the_progress_that_the_model_sees(pictured, has_goal):
    model = BrightnessModel()
    goal = make_views({'head': np.full((16, 16, 3), LEVELS, np.uint8)}, 16) if has_goal else None
    asked = AskedGrm(model, Layout(cell_px=16), 16)
    potential = GrmPotential(lambda _: asked, ['head'], {'task': goal})(pictured)
    assert np.allclose(potential[0], np.arange(6) / 5, rtol=0, atol=1e-9)
    assert np.allclose(potential[1], [0.0, 0.2, 0.4, 0.6, 0.0, 0.0], rtol=0, atol=1e-9)
    assert model.asked == sum(LENGTHS) * (3 if has_goal else 2)


def test_a_camera_that_was_not_kept_is_named(pictured):
    asked = AskedGrm(BrightnessModel(), Layout(cell_px=16), 16)
    with pytest.raises(ParameterError, match="'left_wrist'"):
        GrmPotential(lambda _: asked, ['head', 'left_wrist'], {'task': None})(pictured)


class ForgetfulModel(BrightnessModel):
    """Gives no number about pictures of one brightness, or an infinite one."""

    def __init__(self, lost):
        super().__init__()
        self.lost, self.since = lost, []

    def hops(self, contexts):
        found = super().hops(contexts)
        for i, query in enumerate(contexts):
            now = round(float(query.after.images[0].mean()))
            if now == 2 * LEVELS // 5:
                found[i] = self.lost
            elif now == 3 * LEVELS // 5:
                self.since.append(round(float(query.before.images[0].mean())))
        return found


@pytest.mark.parametrize('lost', [np.nan, np.inf])
def test_a_chunk_without_a_number_repeats_the_potential_as_grm_node_does(pictured, lost):
    # scoring.md, fuse: no prediction repeats the step before, and is never progress 0.
    model = ForgetfulModel(lost)
    asked = AskedGrm(model, Layout(cell_px=16), 16)
    found = GrmPotential(lambda _: asked, ['head'], {'task': None})(pictured)[0]
    assert np.allclose(found, [0.0, 0.2, 0.2, 0.6, 0.8, 1.0], rtol=0, atol=1e-9)
    assert set(model.since) == {0, LEVELS // 5}  # forward, and incremental since the last number

    online = OnlineModel(
        make=lambda _: ForgetfulModel(lost), layout=Layout(cell_px=16), view_px=16
    )
    live = EpisodeProgress(1, online, '', shaping_term)
    frames = [Frame(t, {'head': pictured.images['head'][0, t]}, {'head': t}) for t in range(6)]
    live.see_start(frames[0])
    assert [live.step(frame).potential for frame in frames[1:]] == found[1:].tolist()
