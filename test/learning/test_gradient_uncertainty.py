"""How sure a comparison of gradient estimators is: by hand, and on drawn groups."""

import numpy as np
import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.learning.gradient_uncertainty import ratio_interval
from structrl_ros.learning.gradient_uncertainty import shift_p
from structrl_ros.learning.gradient_uncertainty import squared_shift


def drawn(groups=60, size=5, seed=0):
    return np.random.default_rng(seed).standard_normal((groups, size))


def test_squared_shift_takes_the_noise_off_by_hand():
    full = np.zeros((2, 1))
    # Differences 1 and 3: mean 2, variance 2, noise of the mean 1.
    assert squared_shift(full, [[1.0], [3.0]]) == pytest.approx(2.0**2 - 1.0)


def test_squared_shift_is_unbiased():
    found = [squared_shift(drawn(8, 3, n), drawn(8, 3, n + 9000) + 0.5) for n in range(3000)]
    assert np.mean(found) == pytest.approx(3 * 0.25, abs=4 * np.std(found) / np.sqrt(3000))


def test_the_interval_of_scaled_gradients_is_the_square_of_the_scale():
    full = drawn()
    assert ratio_interval(full, 0.5 * full) == pytest.approx((0.25, 0.25))


def test_the_interval_holds_the_ratio_that_is_so_about_as_often_as_it_says():
    held = 0
    for n in range(200):
        full = drawn(40, 4, n)
        low, high = ratio_interval(full, full + 0.7 * drawn(40, 4, n + 500))
        held += low <= 1.0 + 0.7**2 <= high
    assert 0.88 <= held / 200 <= 0.99


def test_a_shift_is_found_and_none_is_not():
    full = drawn()
    noise = 0.3 * drawn(seed=1)
    assert shift_p(full, full + noise + 0.3) < 0.01
    assert shift_p(full, full + noise - noise.mean(axis=0)) > 0.9
    assert shift_p(full, full) == 1.0


@pytest.mark.parametrize('measure', [ratio_interval, shift_p, squared_shift])
def test_other_groups_are_refused(measure):
    with pytest.raises(ParameterError, match=r'allowed: the same \(n, D\), n >= 2'):
        measure(np.zeros((3, 2)), np.zeros((2, 2)))


def test_gradients_without_variance_are_refused():
    with pytest.raises(ParameterError, match='every group has the same gradient'):
        ratio_interval(np.ones((3, 2)), np.ones((3, 2)))
