"""The board on paper: a PDF or PNG of true size, to be printed at 100 % ("actual size")."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from structrl_ros.calibration.board import Board
from structrl_ros.calibration.board import opencv
from structrl_ros.errors import CalibrationError
from structrl_ros.types import UInt8

#: Pages that are tried, the smallest first: width and height in millimetres, lying.
PAPERS = {'a4': (297.0, 210.0), 'letter': (279.4, 215.9), 'a3': (420.0, 297.0)}
#: White left around the board, millimetres: printers reach this far, detection needs it.
MARGIN_MM = 4.0


class Rectangle(NamedTuple):
    """A black rectangle, in millimetres from the board's first corner, y downwards."""

    x: float
    y: float
    width: float
    height: float


def board_rectangles(board: Board) -> list[Rectangle]:
    """Return what is black on a board: its squares, and the dark cells of its markers."""
    cv2, charuco, square = opencv(), board.charuco(), board.square_mm
    dictionary, found, white = charuco.getDictionary(), [], set()
    cells = dictionary.markerSize + 2
    side = board.marker_mm / cells
    for number, corners in zip(charuco.getIds().ravel(), charuco.getObjPoints(), strict=True):
        left, top = 1000.0 * np.asarray(corners).reshape(4, 3)[:, :2].min(axis=0)
        white.add((round(left // square), round(top // square)))
        marker = cv2.aruco.generateImageMarker(dictionary, int(number), cells)
        for row, column in np.argwhere(marker == 0):
            found.append(Rectangle(left + column * side, top + row * side, side, side))
    places = ((c, r) for c in range(board.columns) for r in range(board.rows))
    return found + [
        Rectangle(column * square, row * square, square, square)
        for column, row in places
        if (column, row) not in white
    ]


def board_picture(board: Board, pixels_per_mm: float, margin_mm: float = MARGIN_MM) -> UInt8:
    """Return the board as grey pixels (H, W), black on white, edges rounded to whole pixels."""
    width_mm, height_mm = board.size_mm
    shape = [round((side + 2 * margin_mm) * pixels_per_mm) for side in (height_mm, width_mm)]
    picture = np.full(shape, 255, np.uint8)
    for rectangle in board_rectangles(board):
        x, y = rectangle.x + margin_mm, rectangle.y + margin_mm
        left, right = round(x * pixels_per_mm), round((x + rectangle.width) * pixels_per_mm)
        top, bottom = round(y * pixels_per_mm), round((y + rectangle.height) * pixels_per_mm)
        picture[top:bottom, left:right] = 0
    return picture


def write_board(board: Board, path: Path, *, dpi: float = 254.0, paper: str = '') -> str:
    """Write a board as `.pdf` (vectors) or `.png`, and return in words what was written.

    Args:
        board: What to draw.
        path: Its suffix decides the format.
        dpi: Of the PNG; it is moved to the next value at which a square has whole pixels, and
            the true value stands in the file.
        paper: Page of the PDF, one of `PAPERS`, or 'board' for a page as large as the board;
            empty takes the first that is large enough.

    Raises:
        CalibrationError: If the suffix or paper is unknown, the paper too small, or the file
            cannot be written.
    """
    try:
        if path.suffix.lower() == '.pdf':
            return _write_pdf(board, path, paper)
        if path.suffix.lower() == '.png':
            return _write_png(board, path, dpi)
    except OSError as error:
        raise CalibrationError(f'{path}: {error.strerror or error}') from None
    raise CalibrationError(f'{path.name} has suffix {path.suffix!r}; allowed: .pdf, .png')


def describe(board: Board) -> str:
    """Return the line that identifies a board on its print."""
    return (
        f'ChArUco {board.columns} x {board.rows}, squares {board.square_mm:g} mm, markers '
        f'{board.marker_mm:g} mm, {board.dictionary}'
    )


def _write_png(board: Board, path: Path, dpi: float) -> str:
    from PIL import Image

    if not 30.0 <= dpi <= 2400.0:
        raise CalibrationError(f'dpi is {dpi:g}; allowed: 30 to 2400')
    square_pixels = max(1, round(board.square_mm * dpi / 25.4))
    true_dpi = square_pixels * 25.4 / board.square_mm
    picture = Image.fromarray(board_picture(board, square_pixels / board.square_mm))
    picture.convert('1').save(path, dpi=(true_dpi, true_dpi))
    return f'{path}: {picture.width} x {picture.height} pixels at {true_dpi:.2f} dpi'


def _page_mm(board: Board, paper: str) -> tuple[float, float]:
    needed = [side + 2 * MARGIN_MM for side in board.size_mm]
    if paper == 'board':
        return needed[0], needed[1]
    if paper and paper not in PAPERS:
        raise CalibrationError(f'paper is {paper!r}; allowed: {", ".join(PAPERS)}, board')
    for name, (width, height) in PAPERS.items():
        if paper not in ('', name):
            continue
        for page in ((width, height), (height, width)):
            if page[0] >= needed[0] and page[1] >= needed[1]:
                return page
    if paper:
        raise CalibrationError(
            f'board needs {needed[0]:g} x {needed[1]:g} mm, more than {paper}; '
            f'allowed: {", ".join(PAPERS)}, board'
        )
    return needed[0], needed[1]


def _write_pdf(board: Board, path: Path, paper: str) -> str:
    import matplotlib as mpl
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.collections import PatchCollection
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle as Patch

    page, (width, height) = _page_mm(board, paper), board.size_mm
    figure = Figure(figsize=(page[0] / 25.4, page[1] / 25.4))
    FigureCanvasPdf(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    left, top = (page[0] - width) / 2, (page[1] - height) / 2
    axes.set(xlim=(-left, page[0] - left), ylim=(page[1] - top, -top))
    axes.set_axis_off()
    patches = [Patch((r.x, r.y), r.width, r.height) for r in board_rectangles(board)]
    axes.add_collection(PatchCollection(patches, facecolor='black', edgecolor='none', linewidth=0))
    size = 2.2 * 72 / 25.4 if top < 8.0 else 3.0 * 72 / 25.4
    axes.text(
        *(0.0, height + 0.5 * top),
        f'{describe(board)}. Print at 100 %; the board is {width:g} mm wide.',
        fontsize=size,
        verticalalignment='center',
    )
    with mpl.rc_context({'pdf.compression': 6, 'pdf.fonttype': 42}):
        figure.savefig(path, format='pdf', metadata={'Title': describe(board)})
    return f'{path}: page of {page[0]:g} x {page[1]:g} mm; print at 100 %, then measure a square'
