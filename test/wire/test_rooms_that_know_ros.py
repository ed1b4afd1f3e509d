"""Messages and rclpy are known to nodes, wire and four drivers alone: read from code."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / 'structrl_ros'
ALLOWED = ('nodes', 'wire')
#: Drivers of controllers that are reached through ROS 2: it is what their vendor gives.
ROS_DRIVERS = (
    'crisp_arm.py',
    'crisp_messages.py',
    'franka_ros_recovery.py',
    'franka_ros_state.py',
)


def imported_roots(source: Path) -> set[str]:
    tree = ast.parse(source.read_text(), filename=str(source))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split('.')[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split('.')[0])
    return found


def is_ros(root: str) -> bool:
    return root == 'rclpy' or root.endswith(('_msgs', '_interfaces')) or root == 'std_srvs'


def sources() -> list[Path]:
    files = {path.resolve(): path for path in sorted(PACKAGE.rglob('*.py'))}
    for room in ('models', 'sim'):
        files |= {path.resolve(): path for path in sorted((ROOT / room).rglob('*.py'))}
    return list(files.values())


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT).parts
    return parts[0]


def test_only_nodes_and_wire_import_messages_or_rclpy() -> None:
    offenders = {
        str(path.relative_to(ROOT)): sorted(root for root in imported_roots(path) if is_ros(root))
        for path in sources()
        if room_of(path) not in ALLOWED
        and not (room_of(path) == 'drivers' and path.name in ROS_DRIVERS)
        and any(map(is_ros, imported_roots(path)))
    }
    assert offenders == {}


def test_the_architecture_names_each_driver_that_knows_ros() -> None:
    told = (ROOT / 'docs' / 'architecture.md').read_text()
    for name in ROS_DRIVERS:
        assert any(map(is_ros, imported_roots(PACKAGE / 'drivers' / name))), 'knows none any more'
        assert f'`{name}`' in told


def test_the_reader_sees_imports_of_messages() -> None:
    assert any(is_ros(root) for root in imported_roots(PACKAGE / 'wire' / 'qos.py'))
    assert len(sources()) > 20
