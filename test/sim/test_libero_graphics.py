"""OpenGL backends: choice, and what happens without one."""

import os
import subprocess
import sys

import pytest

from structrl_ros.sim.libero.graphics import choose_backend
from structrl_ros.sim.libero.graphics import egl_works
from structrl_ros.sim.libero.graphics import osmesa_exists

_WITHOUT_PICTURES = """
from structrl_ros.errors import SimulationError
from structrl_ros.sim.libero.body import LiberoBody
body = LiberoBody()
try:
    body.reset('goal/7', 0, 0)
    print(body.step(body.hold_action()).success)
    body.render('head')
except SimulationError as error:
    print(error)
"""


def test_the_users_choice_of_a_backend_stands(monkeypatch):
    monkeypatch.setenv('MUJOCO_GL', 'glfw')
    assert choose_backend() == 'glfw'


def test_without_a_choice_a_backend_that_exists_is_taken(monkeypatch):
    monkeypatch.delenv('MUJOCO_GL', raising=False)
    works = {'egl': egl_works(), 'osmesa': osmesa_exists(), 'disabled': True}
    assert choose_backend() == next(name for name, there in works.items() if there)


def run_with_backend(name):
    environment = os.environ | {'MUJOCO_GL': name}
    return subprocess.run(
        [sys.executable, '-c', _WITHOUT_PICTURES], capture_output=True, text=True, env=environment
    )


@pytest.mark.sim
def test_without_opengl_physics_runs_and_a_picture_says_what_is_missing():
    done = run_with_backend('disabled')
    success, line = done.stdout.splitlines()
    assert success == 'False'
    assert line.startswith('no picture can be rendered with MUJOCO_GL=disabled')
    assert 'libegl1' in line and done.stderr == ''


@pytest.mark.sim
def test_an_unknown_backend_is_one_line():
    done = run_with_backend('bogus')
    (line,) = done.stdout.splitlines()
    assert "'bogus' does not work" in line and 'allowed for MUJOCO_GL: egl' in line
    assert done.stderr == ''
