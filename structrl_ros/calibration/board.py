"""The calibration board: a ChArUco board as a small YAML file, and as OpenCV knows it."""

from __future__ import annotations

from dataclasses import asdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from structrl_ros.errors import CalibrationError
from structrl_ros.types import Float64

#: Keys of a board's file.
_KEYS = ('columns', 'rows', 'square_mm', 'marker_mm', 'dictionary', 'legacy_pattern')


def opencv() -> Any:
    """Return the module cv2 with its ArUco part.

    Raises:
        CalibrationError: If OpenCV is not installed.
    """
    try:
        import cv2
    except ImportError as error:
        raise CalibrationError(
            f'OpenCV is not installed ({error}); pip install "opencv-python-headless>=4.10,<5"'
        ) from None
    if not hasattr(getattr(cv2, 'aruco', None), 'CharucoDetector'):
        raise CalibrationError(
            f'OpenCV {cv2.__version__} has no CharucoDetector; allowed: 4.7 and newer'
        )
    return cv2


@dataclass(frozen=True, slots=True)
class Board:
    """A ChArUco board: squares as on a chess board, a marker in each white one.

    Its frame lies in the outer corner of the first square: x along a row, y along a column, z
    away from who looks at it. `square_mm` should be what was measured on the print.
    `legacy_pattern` is the layout of OpenCV before 4.6 and of some generators on the web, where
    an even number of rows begins with a white square.
    """

    columns: int = 7
    rows: int = 5
    square_mm: float = 40.0
    marker_mm: float = 30.0
    dictionary: str = 'DICT_5X5_100'
    legacy_pattern: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be a board.

        Raises:
            CalibrationError: If a size or count is out of range.
        """
        if not (3 <= self.columns <= 40 and 3 <= self.rows <= 40):
            raise CalibrationError(
                f'board has {self.columns} x {self.rows} squares; allowed: 3 to 40 a side'
            )
        if not 0.0 < self.marker_mm < self.square_mm <= 1000.0:
            raise CalibrationError(
                f'board has squares of {self.square_mm:g} mm and markers of {self.marker_mm:g} '
                'mm; allowed: 0 < marker < square <= 1000'
            )

    @property
    def size_mm(self) -> tuple[float, float]:
        """Width and height in millimetres."""
        return self.columns * self.square_mm, self.rows * self.square_mm

    @property
    def centre(self) -> Float64:
        """Centre in the board's frame, metres, shape (3,)."""
        width_mm, height_mm = self.size_mm
        return np.array([0.0005 * width_mm, 0.0005 * height_mm, 0.0])

    def charuco(self) -> Any:
        """Return OpenCV's board, in metres.

        Raises:
            CalibrationError: If OpenCV is absent, the dictionary is unknown or has too few
                markers.
        """
        cv2 = opencv()
        number = getattr(cv2.aruco, self.dictionary, None)
        if not self.dictionary.startswith('DICT_') or number is None:
            known = ', '.join(n for n in dir(cv2.aruco) if n.startswith('DICT_'))
            raise CalibrationError(f'unknown dictionary {self.dictionary!r}; known: {known}')
        dictionary = cv2.aruco.getPredefinedDictionary(number)
        needed, there = self.columns * self.rows // 2, len(dictionary.bytesList)
        if needed > there:
            raise CalibrationError(
                f'board needs {needed} markers; {self.dictionary} has {there}: take a larger one'
            )
        size = (self.columns, self.rows)
        board = cv2.aruco.CharucoBoard(
            size, 0.001 * self.square_mm, 0.001 * self.marker_mm, dictionary
        )
        board.setLegacyPattern(self.legacy_pattern)
        return board


def board_from_document(document: Any, where: str) -> Board:
    """Return the board that a YAML document describes.

    Raises:
        CalibrationError: If a key or value is wrong.
    """
    if not isinstance(document, dict):
        raise CalibrationError(f'{where}: {document!r} is no board; keys: {", ".join(_KEYS)}')
    for key in document:
        if key not in _KEYS:
            raise CalibrationError(f'{where}: unknown key {key!r}; known: {", ".join(_KEYS)}')
    kinds = {'columns': int, 'rows': int, 'dictionary': str, 'legacy_pattern': bool}
    values: dict[str, Any] = {}
    for key, value in document.items():
        kind = kinds.get(key, float)
        real = float(value) if kind is float and type(value) in (int, float) else value
        if not isinstance(real, kind) or (isinstance(real, bool) and kind is not bool):
            raise CalibrationError(f'{where}: {key} is {value!r}; allowed: {kind.__name__}')
        values[key] = real
    try:
        return Board(**values)
    except CalibrationError as error:
        raise CalibrationError(f'{where}: {error}') from None


def board_to_document(board: Board) -> dict[str, Any]:
    """Return the board as a YAML document."""
    return asdict(board)


def read_board(path: Path) -> Board:
    """Return the board of a file.

    Raises:
        CalibrationError: If it cannot be read or is no board.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = ' '.join(str(error).split())
        raise CalibrationError(f'board {path}: {reason}') from None
    return board_from_document(document, str(path))
