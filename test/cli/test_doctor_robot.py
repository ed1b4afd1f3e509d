"""`structrl doctor --robot`: findings about an arm that is not there."""

import socket
import struct
import threading

import pytest
from typer.testing import CliRunner

from structrl_ros.cli import doctor_robot
from structrl_ros.cli.doctor import State
from structrl_ros.cli.doctor_robot import examine_robot
from structrl_ros.cli.main import app


def by_subject(findings):
    return {finding.subject: finding for finding in findings}


def test_arm_that_is_not_there_is_said_with_what_to_do():
    findings = by_subject(examine_robot('127.202.1.1'))
    assert findings['Arm reachable'].state is State.MISSING
    assert '127.202.1.1:1337' in findings['Arm reachable'].detail
    assert 'activate FCI' in findings['Arm reachable'].remedy
    for finding in findings.values():
        assert finding.state is State.GOOD or finding.remedy


def answering(version, address, monkeypatch):
    """Be a controller that answers one connection after another with a version."""
    server = socket.socket()
    server.bind((address, 0))
    server.listen()
    monkeypatch.setattr(doctor_robot, 'PORT', server.getsockname()[1])

    def serve():
        while True:
            try:
                link, _ = server.accept()
            except OSError:
                return
            with link:
                if link.recv(16):
                    link.sendall(struct.pack('<IIIBH', 0, 0, 15, version != 10, version))

    threading.Thread(target=serve, daemon=True).start()
    return server


@pytest.mark.parametrize(('version', 'state'), [(10, State.GOOD), (5, State.MISSING)])
def test_version_of_the_protocol_is_read_from_the_arm(version, state, monkeypatch):
    server = answering(version, '127.202.1.2', monkeypatch)
    try:
        findings = by_subject(examine_robot('127.202.1.2'))
    finally:
        server.close()
    assert findings['Arm reachable'].state is not State.MISSING
    assert findings['Arm protocol'].state is state
    if version == 5:
        assert 'speaks version 5, pylibfranka 10' in findings['Arm protocol'].detail


def test_command_ends_with_one_where_something_is_missing():
    told = CliRunner().invoke(app, ['doctor', '--robot', '127.202.1.1'])
    assert told.exit_code == 1
    assert 'to mend' in told.output
    assert 'Arm reachable' in told.output
