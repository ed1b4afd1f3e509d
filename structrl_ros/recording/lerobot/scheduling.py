"""Keeps a library from making the process real-time while it encodes.

The encoder of AV1 (SVT-AV1), run as root, gives the thread that calls it and its own threads
real-time priority 99: the process, and every process that it starts, then goes before all others
of the machine, a robot's controller included. A thread that may not raise priorities, as that of
an ordinary user, is left alone by it. So the block takes that one right (Linux's CAP_SYS_NICE)
from the thread that calls the encoder; threads that it starts inherit the lack.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_CAP_SYS_NICE = 23
_VERSION_3 = 0x20080522


class _Header(ctypes.Structure):
    _fields_ = (('version', ctypes.c_uint32), ('pid', ctypes.c_int))


class _Set(ctypes.Structure):
    _fields_ = (
        ('effective', ctypes.c_uint32),
        ('permitted', ctypes.c_uint32),
        ('inheritable', ctypes.c_uint32),
    )


@contextmanager
def no_real_time() -> Iterator[None]:
    """Take the right to real-time priority from the calling thread, and give it back."""
    if not sys.platform.startswith('linux'):
        yield
        return
    library = ctypes.CDLL(None, use_errno=True)
    sets = _capabilities(library)
    before = sets[0].effective
    sets[0].effective = before & ~(1 << _CAP_SYS_NICE)
    _call(library.capset, sets)
    try:
        yield
    finally:
        sets[0].effective = before
        _call(library.capset, sets)


def _capabilities(library: ctypes.CDLL) -> Any:
    """Return both halves of the calling thread's capability sets."""
    sets = (_Set * 2)()
    _call(library.capget, sets)
    return sets


def _call(function: Any, sets: Any) -> None:
    """Call capget or capset for the calling thread.

    Raises:
        OSError: If the kernel refuses.
    """
    header = _Header(_VERSION_3, 0)
    if function(ctypes.byref(header), sets) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
