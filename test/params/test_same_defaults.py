"""A default that a driver states too is the same one."""

import dataclasses

import pytest

from structrl_ros.drivers.crisp_settings import CrispSettings
from structrl_ros.drivers.fci_settings import FciSettings
from structrl_ros.drivers.fci_settings import StreamSettings
from structrl_ros.params.arm import ArmParameters

#: Another thing of the same name: a controller of ROS 2, not of the arm.
OTHER = {(CrispSettings, 'controller')}


def defaults_of(kind):
    return {f.name: f.default for f in dataclasses.fields(kind)}


@pytest.mark.parametrize('kind', [CrispSettings, FciSettings, StreamSettings])
def test_a_driver_and_arm_node_have_one_default(kind):
    told = defaults_of(ArmParameters)
    shared = {
        name: default
        for name, default in defaults_of(kind).items()
        if default is not dataclasses.MISSING and name in told and (kind, name) not in OTHER
    }
    assert len(shared) > 3
    assert shared == {name: told[name] for name in shared}
