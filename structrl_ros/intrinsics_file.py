"""Intrinsics as a file, in the YAML that ROS's camera calibration tools read and write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from structrl_ros.camera_types import Intrinsics
from structrl_ros.errors import CalibrationError
from structrl_ros.errors import ParameterError


def intrinsics_to_document(intrinsics: Intrinsics, name: str = '') -> dict[str, Any]:
    """Return the document of a camera; `name` is its serial number or role."""
    i = intrinsics
    lens = [float(value) for value in i.distortion] or [0.0] * 5
    matrix = [i.fx, 0.0, i.cx, 0.0, i.fy, i.cy, 0.0, 0.0, 1.0]
    return {
        'image_width': i.width,
        'image_height': i.height,
        'camera_name': name,
        'camera_matrix': {'rows': 3, 'cols': 3, 'data': [float(v) for v in matrix]},
        'distortion_model': i.model,
        'distortion_coefficients': {'rows': 1, 'cols': len(lens), 'data': lens},
    }


def intrinsics_from_document(document: Any, where: str) -> Intrinsics:
    """Return the intrinsics of a document.

    Raises:
        CalibrationError: If a key is absent or a value wrong.
    """
    try:
        k = [float(value) for value in document['camera_matrix']['data']]
        lens = document.get('distortion_coefficients', {}).get('data', [])
        return Intrinsics(
            int(document['image_width']),
            int(document['image_height']),
            *(k[0], k[4], k[2], k[5]),
            tuple(float(value) for value in lens),
            str(document.get('distortion_model', 'plumb_bob')),
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise CalibrationError(
            f'{where}: no intrinsics ({type(error).__name__}: {error}); needed: image_width, '
            'image_height, camera_matrix.data, as ROS camera calibration writes them'
        ) from None
    except ParameterError as error:
        raise CalibrationError(f'{where}: {error}') from None


def read_intrinsics(path: Path) -> Intrinsics:
    """Return the intrinsics of a file.

    Raises:
        CalibrationError: If it cannot be read or holds none.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CalibrationError(f'intrinsics {path}: {" ".join(str(error).split())}') from None
    return intrinsics_from_document(document, str(path))
