"""The physics settings of the tabletop: what each change to them does to grasps and experts.

`facts` on plain MuJoCo say that 4 to 5 ms, a pyramidal cone with impratio 1 and Euler's integrator
break a scripted expert. This arm reaches its targets and its experts act on what they see, so only
Euler breaks whole tasks; the others show in how far a thing creeps in the fingers.
"""

import numpy as np
import pytest

from structrl_ros.errors import SimulationError
from structrl_ros.sim.tabletop.bench import measure_expert
from structrl_ros.sim.tabletop.body import TabletopBody
from structrl_ros.sim.tabletop.mjcf.robot import Grip
from structrl_ros.sim.tabletop.mjcf.scene import Physics
from structrl_ros.sim.tabletop.physics_bench import CHANGES
from structrl_ros.sim.tabletop.physics_bench import measure_creep

pytestmark = pytest.mark.sim
pytest.importorskip('mujoco')

#: Those that show in how far a sphere creeps.
CREEPING = [name for name in CHANGES if 'timestep' in name or 'impratio' in name]
EULER = CHANGES['Euler integrator']


def creeps(physics=None):
    """Millimetres that a sphere moves in the fingers when shaken, in two scenes."""
    found = [measure_creep('lemon_1', first=first, physics=physics) for first in (1000, 1001)]
    assert all(each.is_held for each in found)
    return [1e3 * each.metres for each in found]


@pytest.fixture(scope='module')
def usual():
    return creeps()


def test_what_is_held_hardly_moves_in_the_fingers(usual):
    assert max(usual) < 4.0
    box = measure_creep('cheese_1')
    assert box.is_held and box.metres < 0.002 and box.radians < np.radians(2.0)


@pytest.mark.parametrize('name', CREEPING)
def test_what_is_held_creeps_under_each_documented_change(usual, name):
    changed = creeps(CHANGES[name])
    assert sum(changed) > 1.3 * sum(usual)
    assert all(a > b for a, b in zip(changed, usual, strict=True))


def test_without_torsional_friction_of_the_pads_a_sphere_spins():
    usual = measure_creep('lemon_1', first=1001)
    spun = measure_creep('lemon_1', first=1001, physics=CHANGES['pad condim 3'])
    assert spun.radians > 10.0 * usual.radians


def test_half_the_friction_still_holds_and_none_does_not():
    half = measure_creep('cheese_1', physics=Physics(grip=Grip(friction=0.75)))
    assert half.is_held and half.metres < 0.004
    score = measure_expert('apple_in_bowl', 2, physics=Physics(grip=Grip(friction=0.01)))
    assert score.successes == 0


def drift(physics):
    """Metres that the tool goes on after a motion, in a second of holding."""
    body = TabletopBody(physics=physics)
    body.reset('two_in_basket', 0, 0)
    for row in range(5):
        body.step(np.array([0, row < 3, 0, 0, 0, 0, -1], dtype=np.float32))
    stopped = body.view.tcp[0].copy()
    for _ in range(10):
        body.step(body.hold_action())
    gone = float(np.linalg.norm(body.view.tcp[0] - stopped))
    body.close()
    return gone


def test_the_arm_stands_when_it_holds_and_does_not_under_euler():
    assert drift(Physics()) < 1e-3
    assert drift(EULER) > 0.02


@pytest.mark.slow
def test_euler_breaks_the_experts():
    usual = [measure_expert(task, 12) for task in ('drawer_store', 'pack_lunch')]
    euler = [measure_expert(s.task, 12, physics=EULER) for s in usual]
    assert sum(s.successes for s in usual) == 24
    assert sum(s.successes for s in euler) <= 18


@pytest.mark.slow
@pytest.mark.parametrize('name', CREEPING)
def test_experts_bear_the_other_changes(name):
    score = measure_expert('pack_lunch', 12, physics=CHANGES[name])
    assert score.successes >= 11, score.failed


def test_a_timestep_that_does_not_divide_the_period_is_refused():
    body = TabletopBody(physics=Physics(timestep_s=0.003))
    with pytest.raises(SimulationError, match=r'timestep 0.003 s; allowed: one that divides'):
        body.reset('pack_lunch', 0, 0)
