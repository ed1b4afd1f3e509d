"""`structrl doctor` on a cell: the arm, the cameras and the calibrations of a deploy graph."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from structrl_ros.cli.doctor import Finding
from structrl_ros.cli.doctor import State
from structrl_ros.cli.doctor_calibration import OLD_DAYS
from structrl_ros.cli.doctor_calibration import examine_calibration
from structrl_ros.cli.doctor_cameras import examine_cameras
from structrl_ros.cli.doctor_robot import examine_robot
from structrl_ros.params.graph import NodeSpec
from structrl_ros.params.graph import load_graph

#: What a graph of an arm cannot do without, where only its cameras are looked at.
_PLACEHOLDERS = {
    'arm': 'fake',
    'box_low': '0,0,0',
    'box_high': '1,1,1',
    'planner': 'rules',
    'monitor': 'predicates',
}


@dataclass(frozen=True)
class CellRequest:
    """What to look at: arguments of `structrl up deploy body:=franka`, and what comes on top.

    `robot` is an address, '' takes `robot_ip` of the arguments. `cameras` looks at them even if
    none is named (then the only RealSense is the head).
    """

    arguments: Mapping[str, str]
    robot: str = ''
    cameras: bool = False
    calibrations: Sequence[str] = ()
    old_days: float = OLD_DAYS


def examine_cell(request: CellRequest) -> list[Finding]:
    """Run the checks that the request names, in the order a user would mend things.

    Raises:
        ParameterError: If an argument is unknown, or a value is not allowed.
    """
    given = dict(request.arguments)
    if request.cameras and not any(given.get(role) for role in _ROLES):
        given['head'] = 'realsense'
    nodes = load_graph('deploy', {**_PLACEHOLDERS, **given, 'body': 'franka'}).nodes
    cameras = [node for node in nodes if node.executable == 'camera_node']
    arm = next(node for node in nodes if node.name == 'arm_node')
    address = request.robot or str(arm.parameters['address'])
    findings = examine_robot(address) if address else []
    findings += examine_cameras(cameras)
    named = [*request.calibrations, str(arm.parameters['calibration'])]
    for path in dict.fromkeys(name for name in named if name):
        findings.append(
            examine_calibration(Path(path), serials=_serials(cameras), old_days=request.old_days)
        )
    return [*findings, *_uncalibrated(arm, cameras, named)]


_ROLES = ('head', 'left_wrist', 'right_wrist')


def _serials(cameras: Sequence[NodeSpec]) -> dict[str, str]:
    """Return the serial numbers by role, of those that are told apart by one."""
    own = [c.parameters for c in cameras if c.parameters['backend'] == 'realsense']
    return {str(p['role']): str(p['source']) for p in own if str(p['source']).isalnum()}


def _uncalibrated(
    arm: NodeSpec, cameras: Sequence[NodeSpec], named: Sequence[str]
) -> list[Finding]:
    """Complain of cameras of an arm for which no calibration is named."""
    if any(named) or not cameras or arm.parameters['arm'] == 'fake':
        return []
    remedy = '`structrl calibrate`, then calibration:=FILE'
    return [Finding('Calibration', State.DOUBTFUL, 'none is named for these cameras', remedy)]
