"""Where the files beside the code are: launch files, graphs, profiles, calibration."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from structrl_ros.errors import ParameterError

PACKAGE = 'structrl_ros'


def share_path(*parts: str) -> Path:
    """Return a file or folder of `share/structrl_ros`, such as `share_path('launch', 'graphs')`.

    In a source tree (also of an editable install) it lies beside the package, else in the first
    prefix of AMENT_PREFIX_PATH (colcon) or of this Python (pip) that has it.

    Raises:
        ParameterError: If it is in none of them.
    """
    root = Path(__file__).parents[2]
    places = [root] if (root / 'package.xml').is_file() else []
    prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    places += [Path(prefix, 'share', PACKAGE) for prefix in (*prefixes, sys.prefix)]
    for place in places:
        path = place.joinpath(*parts)
        if path.exists():
            return path
    searched = ', '.join(str(place) for place in places)
    raise ParameterError(f'{"/".join(parts)} is not installed; searched: {searched}')
