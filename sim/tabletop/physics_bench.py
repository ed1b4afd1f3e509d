"""What each physics setting of the tabletop is for: grasps and experts under changes to it.

    python -m structrl_ros.sim.tabletop.physics_bench [--episodes 20]

prints the table of docs/tabletop.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from structrl_ros.control.rotations import difference
from structrl_ros.sim.tabletop.bench import measure_expert
from structrl_ros.sim.tabletop.body import TabletopBody
from structrl_ros.sim.tabletop.mjcf.robot import TCP
from structrl_ros.sim.tabletop.mjcf.robot import Grip
from structrl_ros.sim.tabletop.mjcf.scene import Physics
from structrl_ros.types import Float64

#: Changes that are known to break grasps or scripted experts elsewhere.
CHANGES: Mapping[str, Physics] = MappingProxyType(
    {
        'timestep 4 ms': Physics(timestep_s=0.004),
        'timestep 5 ms': Physics(timestep_s=0.005),
        'pyramidal cone, impratio 1': Physics(cone='pyramidal', impratio=1.0),
        'elliptic cone, impratio 1': Physics(impratio=1.0),
        'pad condim 3': Physics(grip=Grip(condim=3)),
        'grip force 20 N': Physics(grip=Grip(force_n=20.0)),
        'Euler integrator': Physics(integrator='Euler'),
    }
)
#: Scenes of the creep, and tasks of the experts, in the table.
SCENES = (1000, 1001)
TASKS = ('pack_lunch', 'drawer_store')


@dataclass(frozen=True, slots=True)
class Creep:
    """How far a thing has moved (m) and turned (rad) in the fingers, and whether they hold it."""

    metres: float
    radians: float
    is_held: bool


def measure_creep(
    thing: str, *, first: int = 1000, steps: int = 60, physics: Physics | None = None
) -> Creep:
    """Take a thing of `two_in_basket`, shake it for some steps, and see how it moved in the hand.

    Args:
        thing: 'cheese_1' (a box) or 'lemon_1' (a sphere).
        first: Seed and initial state.
        steps: Of shaking with random actions.
        physics: Settings; None for those that grasps need.
    """
    body = TabletopBody(physics=physics)
    body.reset('two_in_basket', first, first)
    slot = [o.name for o in body.task.objects].index(thing)
    while not (body.view.held[0, slot] and body.view.tcp[0, 2] > 0.2):
        body.step(body.expert_action())
    before = _in_hand(body, thing)
    random = np.random.default_rng(0)
    for _ in range(steps):
        action = body.hold_action()
        action[:3] = 0.8 * random.uniform(-1.0, 1.0, 3)
        action[5] = 0.3 * random.uniform(-1.0, 1.0)
        if body.view.tcp[0, 2] < 0.15:
            action[2] = abs(action[2])
        body.step(action)
    translation, rotation = difference(before, _in_hand(body, thing))
    is_held = bool(body.view.held[0, slot])
    body.close()
    return Creep(float(np.linalg.norm(translation)), float(np.linalg.norm(rotation)), is_held)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table: creep of the sphere (mm, degrees) and of the box, then the experts."""
    parser = argparse.ArgumentParser(prog='structrl_ros.sim.tabletop.physics_bench')
    parser.add_argument('--episodes', type=int, default=20, help='for each task')
    chosen = parser.parse_args(arguments)
    for name, physics in {'as it is': Physics(), **CHANGES}.items():
        cells = []
        for thing in ('lemon_1', 'cheese_1'):
            found = [measure_creep(thing, first=scene, physics=physics) for scene in SCENES]
            way = 1e3 * np.mean([each.metres for each in found])
            turn = np.degrees(np.mean([each.radians for each in found]))
            cells.append(f'{way:.1f} mm, {turn:.0f} deg')
        for task in TASKS:
            score = measure_expert(task, chosen.episodes, physics=physics)
            cells.append(f'{score.successes}/{score.episodes}')
        sys.stdout.write(f'| {name} | {" | ".join(cells)} |\n')
        sys.stdout.flush()
    return 0


def _in_hand(body: TabletopBody, thing: str) -> Float64:
    """Return the transform of a thing to the tool, shape (4, 4)."""
    tool, pose = np.eye(4), np.eye(4)
    site, moved = body.data.site(TCP), body.data.body(thing)
    tool[:3, :3], tool[:3, 3] = site.xmat.reshape(3, 3), site.xpos
    pose[:3, :3], pose[:3, 3] = moved.xmat.reshape(3, 3), moved.xpos
    return np.asarray(np.linalg.inv(tool) @ pose)


if __name__ == '__main__':
    sys.exit(main())
