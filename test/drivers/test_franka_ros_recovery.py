"""Recovery through an action and two services over DDS, against servers that stand in.

The interfaces are generated here, under the names and fields of franka_ros2 and ros2_control;
those packages are no wheels. `make colcon` installs the generators.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

ROOT = Path(__file__).parents[2]
FAKES = ROOT / 'test' / 'fakes' / 'franka_interfaces'
#: Where the generators of interfaces are: `make colcon` makes it.
GENERATORS = Path(os.environ.get('STRUCTRL_COLCON_VENV', ROOT / '.venv-colcon'))

# The interfaces take about 40 s of CPU time.
pytestmark = [pytest.mark.ros, pytest.mark.slow, pytest.mark.timeout(900)]
if not (GENERATORS / 'bin' / 'python').exists():
    pytest.skip('no generators of interfaces: make colcon', allow_module_level=True)


def environment(**changes):
    dropped = ('LD_LIBRARY_PATH', 'PYTHONPATH', '_ROS_WHEELS_BOOTSTRAP_COMPLETE')
    return {k: v for k, v in os.environ.items() if k not in dropped} | changes


@pytest.fixture(scope='module')
def prefix(tmp_path_factory):
    """Generate, compile and install the interfaces."""
    build, prefix = tmp_path_factory.mktemp('build'), tmp_path_factory.mktemp('prefix')
    paths = f'{GENERATORS / "bin"}{os.pathsep}{os.environ["PATH"]}'
    variables = environment(PATH=paths, AMENT_PREFIX_PATH=str(GENERATORS))
    include = ROOT / 'structrl_msgs' / 'pip' / 'drop_missing_includes.cmake'
    library = f'lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages'
    for words in (
        [
            *('cmake', '-S', FAKES, '-B', build, '-DBUILD_TESTING=OFF', '-Wno-dev'),
            f'-DCMAKE_PREFIX_PATH={GENERATORS}',
            f'-DCMAKE_INSTALL_PREFIX={prefix}',
            f'-DPython3_EXECUTABLE={GENERATORS / "bin" / "python"}',
            '-DPython3_FIND_VIRTUALENV=ONLY',
            f'-DPYTHON_INSTALL_DIR={library}',
            *(
                f'-DCMAKE_PROJECT_{name}_INCLUDE={include}'
                for name in ('controller_manager_msgs', 'franka_msgs')
            ),
        ],
        ['cmake', '--build', build, '--parallel', '2'],
        ['cmake', '--install', build],
    ):
        done = subprocess.run(
            list(map(str, words)), env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f'{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}'
    return prefix, prefix / library


def recovery(prefix, fails):
    root, packages = prefix
    script = Path(__file__).with_name('recovery_over_topics.py')
    folders = (packages, script.parent, FAKES.parent)
    changes = {'PYTHONPATH': os.pathsep.join(map(str, folders))}
    changes['LD_LIBRARY_PATH'] = str(root / 'lib')
    done = subprocess.run(
        [sys.executable, str(script), fails],
        env=environment(**changes),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


STEPS = ['error_recovery', 'FrankaHardwareInterface active', 'joint_impedance_controller']


def test_reflex_is_recovered_by_three_steps_in_order_and_the_target_is_where_the_arm_is(prefix):
    told = recovery(prefix, 'nothing')
    assert told['why'] == ''
    assert told['errors'] == ['cartesian_reflex']
    assert told['steps'] == STEPS
    assert told['mode'] == 'MOVE'
    assert told['seed_error'] < 1e-6
    assert told['target_error'] < 1e-6, 'it does not jump to where it was before the reflex'


@pytest.mark.parametrize(('fails', 'steps'), [('hardware', 2), ('controller', 3)])
def test_step_that_fails_ends_the_recovery_and_no_target_is_sent(prefix, fails, steps):
    told = recovery(prefix, fails)
    assert told['steps'] == STEPS[:steps]
    assert f'recovery failed at {fails!r}'[:-1] in told['why']
    assert 'did not become active' in told['why']
    assert told['sent_after'] == 0
