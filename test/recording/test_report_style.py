"""Colours of the reports: readable in light and dark, and told apart under colour blindness."""

import itertools

import numpy as np
import pytest

from structrl_ros.recording.report_style import DARK
from structrl_ros.recording.report_style import LIGHT
from structrl_ros.recording.report_style import SERIES
from structrl_ros.recording.report_style import palette_rules

#: Linear RGB as people without one kind of cones see it: Machado, Oliveira and Fernandes,
#: "A physiologically-based model for simulation of color vision deficiency", TVCG 15 (2009).
SIGHTS = {
    'full': np.eye(3),
    'no red': [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    'no green': [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    'no blue': [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def linear(colour):
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(colour, sight):
    xyz = XYZ @ np.clip(np.asarray(sight) @ linear(colour), 0, 1) / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(a, b):
    """Return the contrast ratio of WCAG 2."""
    low, high = sorted(float(XYZ[1] @ linear(c)) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize('colours', [LIGHT, DARK])
def test_text_has_the_contrast_of_wcag_aa(colours):
    pairs = [('ink', 'card'), ('ink', 'page'), ('soft', 'card'), ('soft', 'page')]
    pairs += [('accent', 'card'), ('accent', 'page'), ('on-soft', 'accent-soft')]
    for name in ('good', 'warn', 'bad'):
        pairs += [(name, f'{name}-soft'), (name, 'card'), ('ink', f'{name}-soft')]
    for text, ground in pairs:
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


@pytest.mark.parametrize('colours', [LIGHT, DARK])
def test_series_stand_out_from_the_card(colours):
    for i in range(SERIES):
        assert contrast(colours[f't{i}'], colours['card']) >= 3.0, i


@pytest.mark.parametrize('sight', SIGHTS)
@pytest.mark.parametrize('colours', [LIGHT, DARK])
@pytest.mark.parametrize('names', [[f't{i}' for i in range(SERIES)], ['good', 'warn', 'bad']])
def test_colours_are_told_apart_by_the_colour_blind(colours, names, sight):
    for a, b in itertools.combinations(names, 2):
        distance = np.linalg.norm(lab(colours[a], SIGHTS[sight]) - lab(colours[b], SIGHTS[sight]))
        assert distance >= 18.0, (a, b)


def test_paper_is_light():
    rules = palette_rules()
    light, dark = rules.split('@media screen and (prefers-color-scheme: dark)')
    assert LIGHT['page'] in light
    assert DARK['page'] in dark
    assert DARK['page'] not in light
    assert set(LIGHT) == set(DARK)
