"""`structrl doctor`: what works on this machine, and how to mend what does not.

Every check runs in a process of its own where it could crash or hang (graphics drivers do), so
that the doctor itself always ends with a table.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum

_PROBE_SECONDS = 60


class State(StrEnum):
    """Outcome of a check."""

    GOOD = 'ok'
    MISSING = 'missing'
    DOUBTFUL = 'doubtful'
    OPTIONAL = 'not here'


@dataclass(frozen=True)
class Finding:
    """One row of the doctor's table; `remedy` is '' when there is nothing to mend."""

    subject: str
    state: State
    detail: str
    remedy: str = ''


def examine() -> list[Finding]:
    """Run every check, in the order a user would mend things."""
    from structrl_ros.cli.doctor_install import CHECKS as INSTALLED
    from structrl_ros.cli.doctor_machine import CHECKS as MACHINE

    return [check() for check in (*INSTALLED, *MACHINE)]


def probe(code: str, *, environment: dict[str, str] | None = None) -> tuple[bool, str]:
    """Run Python code in a fresh process; return whether it ended well, and its last line."""
    try:
        done = subprocess.run(
            [sys.executable, '-c', code],
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False, f'no answer within {_PROBE_SECONDS} s'
    output = done.stdout if done.returncode == 0 else done.stderr or done.stdout
    lines = [line for line in output.strip().splitlines() if line.strip()]
    if lines:
        return done.returncode == 0, lines[-1]
    ended = f'was killed by signal {-done.returncode}' if done.returncode < 0 else ''
    return done.returncode == 0, ended or f'exit status {done.returncode}'


def is_not_installed(line: str, module: str) -> bool:
    """Tell from the last line of a probe whether a module is missing, not merely broken."""
    return line.startswith('ModuleNotFoundError') and f"'{module}'" in line
