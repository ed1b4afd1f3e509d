"""The pure rooms import numpy and scipy alone."""

import subprocess
import sys

SCRIPT = """
import pkgutil, sys
for name in ('torch', 'rclpy', 'mujoco', 'robosuite', 'libero', 'structrl_msgs', 'pydantic'):
    sys.modules[name] = None
import structrl_ros
seen = ['structrl_ros.types', 'structrl_ros.ports', 'structrl_ros.errors']
for room in ('plan', 'subtasks', 'rewards', 'progress', 'learning', 'control', 'evaluation'):
    package = __import__(f'structrl_ros.{room}', fromlist=['__path__'])
    prefix = f'structrl_ros.{room}.'
    seen += [m.name for m in pkgutil.walk_packages(package.__path__, prefix)]
for name in seen:
    __import__(name)
print(len(seen), 'scipy.stats' in sys.modules, 'scipy.optimize' in sys.modules)
"""


def test_pure_rooms_import_without_torch_rclpy_and_mujoco():
    command = [sys.executable, '-c', SCRIPT]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    count, has_stats, _ = result.stdout.split()
    assert int(count) > 20
    assert has_stats == 'False', 'scipy.stats takes a second to import: import it where used'
