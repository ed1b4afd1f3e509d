"""The tracker's settings survive a line of text."""

import pytest

from structrl_ros.errors import ParameterError
from structrl_ros.subtasks.paid_task import TrackerSettings
from structrl_ros.subtasks.settings_text import settings_from_text
from structrl_ros.subtasks.settings_text import settings_to_text


def test_settings_come_back_equal_to_the_last_bit():
    settings = TrackerSettings(
        beta=0.1 + 0.2, cap=1.0 / 3.0, durations={'a/grasp x': 7.0 / 3.0}, lockstep=True
    )
    assert settings_from_text(settings_to_text(settings)) == settings


def test_only_durations_of_the_task_are_kept():
    settings = TrackerSettings(durations={'long/0/x': 1.0, 'long/1/x': 2.0, 'x': 3.0})
    kept = settings_from_text(settings_to_text(settings, 'long/0')).durations
    assert kept == {'long/0/x': 1.0, 'x': 3.0}


@pytest.mark.parametrize('text', ['', '[]', '{"beta": 1, "colour": "red"}', '{"pacing": "slow"}'])
def test_other_text_is_refused(text):
    with pytest.raises(ParameterError):
        settings_from_text(text)
