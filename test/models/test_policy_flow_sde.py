"""The flow-SDE on densities that are known: marginals, likelihood, and the ODE at sigma 0."""

import math
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('torch')

import torch

from structrl_ros.errors import ParameterError
from structrl_ros.errors import PolicyError
from structrl_ros.models.policies.flow_sde import Exploration
from structrl_ros.models.policies.flow_sde import FlowSDE
from structrl_ros.models.policies.row_noise import RowNoise

pytestmark = pytest.mark.torch

#: Data: half N(-1, .3^2), half N(1.2, .5^2), every element alone.
MEANS = torch.tensor([-1.0, 1.2], dtype=torch.float64)
DEVIATIONS = torch.tensor([0.3, 0.5], dtype=torch.float64)


def mixture_velocity(steps):
    """The exact E[x_1 - x_0 | x_t] of the two-bump data."""

    def velocity(point, step):
        t = step / steps
        x = point[..., None]
        variance = (1 - t) ** 2 + t**2 * DEVIATIONS**2
        residual = x - t * MEANS
        weight = torch.softmax(-0.5 * residual**2 / variance - 0.5 * variance.log(), dim=-1)
        data = MEANS + t * DEVIATIONS**2 / variance * residual
        noise = (1 - t) / variance * residual
        return (weight * (data - noise)).sum(dim=-1)

    return velocity


def data(count):
    generator = torch.Generator().manual_seed(1)
    which = torch.randint(0, 2, (count,), generator=generator)
    unit = torch.randn(count, generator=generator, dtype=torch.float64)
    return MEANS[which] + DEVIATIONS[which] * unit


def kolmogorov_smirnov(first, second):
    """The largest distance of two empirical distribution functions."""
    points = torch.cat((first, second)).sort().values
    counts = [
        torch.searchsorted(s.sort().values, points, right=True) / len(s) for s in (first, second)
    ]
    return float((counts[0] - counts[1]).abs().max())


def sampled(steps, exploration=None, rows=1, count=40_000):
    """Draw chunks of the two-bump data, by the ODE where there is no exploration."""
    sde = FlowSDE(exploration or Exploration(), steps, rows).double()
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(count, sde.draws, rows, 1, generator=generator, dtype=torch.float64)
    chain, _ = sde.sample(mixture_velocity(steps), noise, explore=exploration is not None)
    return chain[:, -1, :, 0]


def test_with_drift_correction_the_sde_has_the_marginals_of_the_ode():
    steps = 100
    noisy = Exploration(sigma=0.07, steps=tuple(range(steps)))
    ode, plain = sampled(steps)[:, 0], sampled(steps, noisy)[:, 0]
    corrected = sampled(steps, replace(noisy, drift_correction=True))[:, 0]
    # 40,000 against 40,000 samples of one law differ by .0096 in one case of twenty.
    assert kolmogorov_smirnov(corrected, ode) < 0.014
    assert kolmogorov_smirnov(corrected, data(40_000)) < 0.016
    assert abs(corrected.mean() - ode.mean()) < 0.02
    assert abs(corrected.std() - ode.std()) < 0.02
    # Total noise .05 * sqrt(200) = .7 is no trifle: without the correction it shows.
    assert kolmogorov_smirnov(plain, ode) > 0.05
    assert (corrected - ode).abs().mean() > 0.2


def test_with_correlated_noise_the_corrected_marginals_stay_too():
    steps = 100
    noisy = Exploration(
        sigma=0.07, steps=tuple(range(steps)), correlation=0.8, drift_correction=True
    )
    corrected = sampled(steps, noisy, rows=2, count=20_000)
    ode = sampled(steps, rows=2, count=20_000)
    for row in (0, 1):
        assert kolmogorov_smirnov(corrected[:, row], ode[:, row]) < 0.02
    assert abs(float(torch.corrcoef(corrected.T)[0, 1])) < 0.03


def test_white_noise_on_the_last_step_widens_the_marginal_by_its_own_variance():
    ode, noisy = sampled(4)[:, 0], sampled(4, Exploration(sigma=0.1))[:, 0]
    assert float(noisy.var() - ode.var()) == pytest.approx(0.01, abs=0.004)
    assert float((noisy - ode).std()) == pytest.approx(0.1, rel=0.02)


@pytest.mark.parametrize('steps', [(-1,), (0, 1, 2, 3), (1, -1)])
@pytest.mark.parametrize('correlation', [0.0, 0.6])
def test_sigma_zero_is_the_ode_to_the_last_bit(steps, correlation):
    sde = FlowSDE(
        Exploration(sigma=0.0, steps=steps, correlation=correlation, drift_correction=True), 4, 3
    )
    noise = torch.randn(8, sde.draws, 3, 2)

    def velocity(point, step):
        return torch.sin(point * (step + 1))

    explored, log_prob = sde.sample(velocity, noise, explore=True)
    ode, _ = sde.sample(velocity, noise, explore=False)
    assert torch.equal(explored, ode)
    assert not log_prob.any()
    assert not sde.log_prob(velocity, explored).any()


@pytest.mark.parametrize('correlation', [0.0, 0.7])
@pytest.mark.parametrize('drift_correction', [False, True])
@pytest.mark.parametrize('steps', [(-1,), (1, 3), (0, 1, 2, 3)])
def test_log_prob_of_the_chain_is_the_density_of_its_noisy_steps(
    steps, drift_correction, correlation
):
    exploration = Exploration(
        sigma=0.2, steps=steps, correlation=correlation, drift_correction=drift_correction
    )
    sde = FlowSDE(exploration, 4, 3).double()
    noise = torch.randn(5, sde.draws, 3, 2, dtype=torch.float64)
    velocity = mixture_velocity(4)
    chain, log_prob = sde.sample(velocity, noise, explore=True)
    assert torch.equal(sde.log_prob(velocity, chain), log_prob)
    # By hand: the drawn noise of every noisy step under N(0, sigma^2 R), one column at a time.
    rows = torch.arange(3.0, dtype=torch.float64)
    covariance = 0.04 * correlation ** (rows[:, None] - rows).abs()
    law = torch.distributions.MultivariateNormal(torch.zeros(3, dtype=torch.float64), covariance)
    coloured = torch.linalg.cholesky(covariance) @ noise[:, 1:]
    by_hand = law.log_prob(coloured.transpose(2, 3)).sum(dim=1)
    torch.testing.assert_close(log_prob.sum(dim=1), by_hand, atol=1e-5, rtol=0)


def test_the_density_of_the_first_rows_is_that_of_a_chunk_cut_there():
    residual = torch.randn(6, 5, 2)
    whole = RowNoise(0.7, 5).log_density(residual, 0.1)
    cut = RowNoise(0.7, 3).log_density(residual[:, :3], 0.1)
    torch.testing.assert_close(whole[:, :3], cut)


def test_neighbouring_rows_are_correlated_as_asked():
    coloured = RowNoise(0.7, 4).colour(torch.randn(50_000, 4, 1, generator=torch.manual_seed(0)))
    matrix = np.corrcoef(coloured[:, :, 0].numpy().T)
    expected = 0.7 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    np.testing.assert_allclose(matrix, expected, atol=0.02)


def test_white_density_of_one_sigma_is_the_hand_worked_number():
    told = RowNoise(0.0, 1).log_density(torch.tensor([[[0.1]]]), 0.1)
    assert float(told) == pytest.approx(-0.5 - math.log(0.1 * math.sqrt(2 * math.pi)), abs=1e-6)


@pytest.mark.parametrize(
    ('fields', 'words'),
    [
        ({'sigma': -0.1}, 'sigma is -0.1; allowed'),
        ({'sigma': math.nan}, 'sigma is nan; allowed'),
        ({'correlation': 1.0}, r'correlation is 1.0; allowed: \[0, 1\)'),
        ({'steps': (4,)}, r'noisy steps are \[4\]; allowed: -4 to 3'),
        ({'steps': (3, -1)}, r'noisy steps are \[3, -1\]; allowed: each once'),
    ],
)
def test_an_exploration_out_of_range_is_refused(fields, words):
    with pytest.raises(ParameterError, match=words):
        FlowSDE(Exploration(**fields), 4, 2)


def test_a_chain_of_another_number_of_steps_is_refused():
    with pytest.raises(PolicyError, match=r'chain has 4 points; allowed: 5 \(4 denoising steps\)'):
        FlowSDE(Exploration(), 4, 2).log_prob(lambda p, s: p, torch.zeros(1, 4, 2, 1))
