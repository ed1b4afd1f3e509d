"""ROS domains that no other test process on this machine uses at the same time.

A domain is claimed by a file lock that ends with the process, so that test workers, and several
runs side by side, never hear each other.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path
from typing import IO

#: Above 101 the ports would lie among those that Linux hands out itself; 0 is everybody's.
DOMAINS = range(1, 101)

_claims: dict[object, tuple[int, IO[str]]] = {}


def claimed_domain(purpose: object = None) -> int:
    """Return the domain of this process for a purpose: the same one every time."""
    key = (os.getpid(), purpose)
    if key not in _claims:
        _claims[key] = _claim()
    return _claims[key][0]


def _claim() -> tuple[int, IO[str]]:
    folder = Path(tempfile.gettempdir(), f'structrl-ros-domains-{os.getuid()}')
    folder.mkdir(exist_ok=True)
    first = os.getpid() * 7 % len(DOMAINS)
    for domain in [*DOMAINS[first:], *DOMAINS[:first]]:
        lock = (folder / str(domain)).open('w')
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        return domain, lock
    raise RuntimeError(f'all {len(DOMAINS)} ROS domains for tests are in use')
