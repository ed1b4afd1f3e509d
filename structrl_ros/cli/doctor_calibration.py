"""`structrl doctor`: how old a calibration is, what it is worth, and of which camera."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from datetime import datetime
from pathlib import Path

from structrl_ros.calibration.document import CalibrationFile
from structrl_ros.calibration.document import read_calibration
from structrl_ros.cli.doctor import Finding
from structrl_ros.cli.doctor import State
from structrl_ros.errors import CalibrationError

#: Age at which a calibration is to be checked again, days.
OLD_DAYS = 30.0
#: Held-out residuals above which a calibration is to be done again, mm and degrees (medians).
WORST_MM, WORST_DEG = 5.0, 1.0
_AGAIN = '`structrl calibrate verify` tells whether it still holds; else capture and solve anew'


def examine_calibration(
    path: Path, *, serials: Mapping[str, str], old_days: float = OLD_DAYS
) -> Finding:
    """Judge one calibration file.

    Args:
        path: Written by `structrl calibrate solve`.
        serials: Serial number of the camera of each role, where one is configured.
        old_days: Age from which it is doubtful.
    """
    subject = f'Calibration {path.name}'
    if not path.expanduser().is_file():
        remedy = '`structrl calibrate capture`, then `structrl calibrate solve`'
        return Finding(subject, State.MISSING, f'no file {path}', remedy)
    try:
        file = read_calibration(path.expanduser())
        days = _age_days(file.date)
    except CalibrationError as error:
        remedy = 'write it anew: `structrl calibrate solve`'
        return Finding(subject, State.MISSING, str(error), remedy)
    detail = f'{days:.0f} days old ({file.date[:10]}), {_provenance(file)}'
    complaint, remedy = _complaint(file, days, serials, old_days)
    if complaint:
        return Finding(subject, State.DOUBTFUL, f'{detail}; {complaint}', remedy)
    return Finding(subject, State.GOOD, detail)


def _complaint(
    file: CalibrationFile, days: float, serials: Mapping[str, str], old_days: float
) -> tuple[str, str]:
    """Return what is doubtful and how to mend it, or two empty texts."""
    role = str(file.provenance['camera'].get('role', ''))
    configured = serials.get(role, '')
    if configured and file.serial and configured != file.serial:
        return (
            f'it is of camera {file.serial}, the {role} camera is {configured}',
            'calibrate the camera that is there, or name its file',
        )
    mm, deg = _heldout(file)
    if mm > WORST_MM or deg > WORST_DEG:
        return 'its held-out residuals are large', 'capture more poses, more spread, and solve'
    if days < -1.0:
        return 'it is from the future', 'set the clock of this machine: `timedatectl`'
    if days > old_days:
        return f'older than {old_days:g} days', _AGAIN
    return '', ''


def _provenance(file: CalibrationFile) -> str:
    mm, deg = _heldout(file)
    told = file.provenance
    camera = file.serial or 'a camera without serial number'
    return (
        f'{file.camera.child} in {file.camera.parent} by {told.get("method", "?")}, '
        f'{told.get("poses", "?")} poses of {camera}, held out {mm:.1f} mm {deg:.2f} deg'
    )


def _heldout(file: CalibrationFile) -> tuple[float, float]:
    """Return the held-out residuals, mm and degrees; not a number where the file has none."""
    told = (file.provenance.get('residuals') or {}).get('heldout') or {}
    return float(told.get('mm_median', 'nan')), float(told.get('deg_median', 'nan'))


def _age_days(date: str) -> float:
    """Return the age of an ISO 8601 date.

    Raises:
        CalibrationError: If it is none.
    """
    try:
        then = datetime.fromisoformat(date)
    except ValueError:
        raise CalibrationError(f'date {date!r}; allowed: ISO 8601') from None
    then = then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    return (datetime.now(UTC) - then).total_seconds() / 86400.0
