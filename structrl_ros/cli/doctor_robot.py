"""`structrl doctor --robot ADDRESS`: what stands between this machine and a Franka.

Nothing here moves the arm: it asks for its protocol version and reads one state at most.
"""

from __future__ import annotations

import importlib.util
import os
import resource
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from structrl_ros.cli.doctor import Finding
from structrl_ros.cli.doctor import State

#: Port of the Franka Control Interface.
PORT = 1337
#: The wire protocol that pylibfranka 0.21 speaks.
VERSION = 10
#: A network with a longer round trip loses commands, milliseconds.
PING_MS = 0.5
#: Command, id, size, then status and version of the controller.
_ANSWER = struct.Struct('<IIIBH')
_KERNEL = Path('/sys/kernel/realtime')
_GOVERNORS = '/sys/devices/system/cpu'
_SECONDS = 5.0


def examine_robot(address: str) -> list[Finding]:
    """Run every check of a robot, in the order a user would mend things.

    Args:
        address: Address or name of the controller.
    """
    checks: list[Callable[[], Finding]] = [
        _library,
        lambda: _ping(address),
        lambda: _protocol(address),
        _kernel,
        _governor,
        _priority,
    ]
    return [check() for check in checks]


def _library() -> Finding:
    good = importlib.util.find_spec('pylibfranka') is not None
    remedy = '' if good else '`.venv/bin/pip install -r requirements/franka.txt`'
    detail = 'pylibfranka is installed' if good else 'pylibfranka is not installed'
    return Finding('Franka library', State.GOOD if good else State.MISSING, detail, remedy)


def _ping(address: str) -> Finding:
    """Measure the round trip to the controller by TCP connections, which need no privilege."""
    trips = []
    for _ in range(5):
        start = time.perf_counter()
        try:
            with socket.create_connection((address, PORT), timeout=_SECONDS):
                trips.append(1e3 * (time.perf_counter() - start))
        except OSError as error:
            remedy = (
                'switch the arm on, unlock it and activate FCI in Desk; give this computer an '
                'address of its network'
            )
            return Finding('Arm reachable', State.MISSING, f'{address}:{PORT}: {error}', remedy)
        time.sleep(0.05)
    median = sorted(trips)[len(trips) // 2]
    slow = median > PING_MS
    detail = f'{address}:{PORT} answers, round trip {median:.2f} ms'
    remedy = f'connect it directly by cable: above {PING_MS} ms commands come late' if slow else ''
    return Finding('Arm reachable', State.DOUBTFUL if slow else State.GOOD, detail, remedy)


def _protocol(address: str) -> Finding:
    """Ask for a connection by the FCI's first message, and read the version of the answer.

    Header of 12 bytes (command, id, size), then version and UDP port; the answer has status and
    version behind its header.
    """
    subject = 'Arm protocol'
    try:
        with socket.create_connection((address, PORT), timeout=_SECONDS) as link:
            link.sendall(struct.pack('<IIIHH', 0, 0, 16, VERSION, 0))
            answer = link.recv(64)
    except OSError as error:
        return Finding(subject, State.MISSING, str(error), 'see the check before')
    if len(answer) < _ANSWER.size:
        return Finding(
            subject,
            State.MISSING,
            f'{len(answer)} bytes of an answer',
            'another program holds the arm: only one may be connected; end it',
        )
    *_, status, version = _ANSWER.unpack_from(answer)
    if status == 0 and version in (0, VERSION):
        return Finding(subject, State.GOOD, f'version {VERSION} (system image 5.9.0 or later)')
    return Finding(
        subject,
        State.MISSING,
        f'the arm speaks version {version}, pylibfranka {VERSION}',
        'update the system image in Desk, or install the pylibfranka that fits it',
    )


def _kernel() -> Finding:
    is_realtime = _KERNEL.exists() and _KERNEL.read_text().strip() == '1'
    detail = os.uname().release
    if is_realtime:
        return Finding('Real-time kernel', State.GOOD, f'{detail}, PREEMPT_RT')
    remedy = 'install a PREEMPT_RT kernel (Ubuntu Pro has one); without: realtime:=try, at risk'
    return Finding('Real-time kernel', State.DOUBTFUL, f'{detail}, not PREEMPT_RT', remedy)


def _governor() -> Finding:
    files = sorted(Path(_GOVERNORS).glob('cpu[0-9]*/cpufreq/scaling_governor'))
    found = {file.read_text().strip() for file in files}
    if not found or found == {'performance'}:
        detail = 'performance' if found else 'this machine does not change its frequency'
        return Finding('CPU governor', State.GOOD, detail)
    remedy = '`sudo cpupower frequency-set -g performance`'
    return Finding('CPU governor', State.DOUBTFUL, ', '.join(sorted(found)), remedy)


def _priority() -> Finding:
    """Try in another process, so that this one stays as it is."""
    code = 'import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))'
    told = subprocess.run(
        [sys.executable, '-S', '-c', code], capture_output=True, check=False, timeout=30
    )
    limit = resource.getrlimit(resource.RLIMIT_RTPRIO)[1]
    if told.returncode == 0:
        return Finding('Real-time priority', State.GOOD, 'allowed')
    remedy = (
        '`sudo groupadd realtime; sudo usermod -aG realtime $USER`, then "@realtime soft rtprio '
        '99" and "@realtime hard rtprio 99" in /etc/security/limits.conf, and log in again'
    )
    return Finding('Real-time priority', State.MISSING, f'not allowed (limit {limit})', remedy)
