"""Boards: true size on paper, the layout of OpenCV, and files that are refused with one line."""

import re
import zlib

import numpy as np
import pytest
from PIL import Image

pytest.importorskip('cv2', reason='needs OpenCV: requirements/sensors.txt')

from structrl_ros.calibration.board import Board
from structrl_ros.calibration.board import board_from_document
from structrl_ros.calibration.board import board_to_document
from structrl_ros.calibration.board import read_board
from structrl_ros.calibration.board_print import board_picture
from structrl_ros.calibration.board_print import board_rectangles
from structrl_ros.calibration.board_print import write_board
from structrl_ros.calibration.detection import BoardDetector
from structrl_ros.errors import CalibrationError
from structrl_ros.params.share import share_path

BOARD = Board()


@pytest.mark.parametrize('rows', [5, 6])
@pytest.mark.parametrize('legacy', [False, True])
def test_the_layout_is_that_of_opencv(rows, legacy):
    board = Board(rows=rows, legacy_pattern=legacy)
    ours = board_picture(board, 1.4, 5.0)  # a cell of a marker is 6 pixels, a square 56
    size = (ours.shape[1], ours.shape[0])
    assert (ours == board.charuco().generateImage(size, marginSize=7, borderBits=1)).all()


@pytest.mark.parametrize('dpi', [150.0, 254.0, 300.0])
def test_a_png_has_its_true_size_in_its_own_dpi(tmp_path, dpi):
    path = tmp_path / 'board.png'
    write_board(BOARD, path, dpi=dpi)
    with Image.open(path) as picture:
        told = picture.info['dpi'][0]
        grey = np.array(picture.convert('L'))
    assert told == pytest.approx(dpi, rel=0.01)
    seen = BoardDetector(BOARD).detect(grey)
    assert len(seen) == 24
    millimetres = seen.corners * 25.4 / told
    want = 1000.0 * seen.points[:, :2]
    offset = (millimetres - want).mean(axis=0)
    assert np.abs(millimetres - want - offset).max() < 0.04


def drawn_by_pdf(path):
    """Return page size and black rectangles of a PDF, in millimetres from its lower corner."""
    raw = path.read_bytes()
    page = [float(v) for v in re.search(rb'/MediaBox \[([^\]]+)\]', raw)[1].split()]
    streams = re.findall(rb'stream\r?\n(.*?)\r?\nendstream', raw, re.DOTALL)
    content = b''.join(zlib.decompress(s) for s in streams if s[:1] == b'x').decode('latin-1')
    number = r'(-?[\d.]+)'
    corner = rf'{number} {number} '
    paths = re.findall(rf'{corner}m\n{corner}l\n{corner}l\n{corner}l\nh', content)
    boxes = {}
    for values in paths:
        xy = np.array(values, float).reshape(4, 2) * 25.4 / 72
        box = (*xy.min(axis=0), *(xy.max(axis=0) - xy.min(axis=0)))
        boxes[tuple(np.round(box, 3))] = box
    return np.array(page[2:]) * 25.4 / 72, list(boxes.values())


@pytest.mark.parametrize(
    ('paper', 'size'), [('', (297, 210)), ('a3', (420, 297)), ('board', (288, 208))]
)
def test_a_pdf_draws_every_rectangle_in_true_size_on_its_page(tmp_path, paper, size):
    path = tmp_path / 'board.pdf'
    assert 'print at 100 %' in write_board(BOARD, path, paper=paper)
    page, drawn = drawn_by_pdf(path)
    assert page == pytest.approx(size, abs=0.02)
    left, top = (size[0] - 280) / 2, (size[1] - 200) / 2
    got = sorted(tuple(np.round(box, 2)) for box in drawn if box[2] < 100)
    want = sorted(
        (left + r.x, size[1] - top - r.y - r.height, r.width, r.height)
        for r in board_rectangles(BOARD)
    )
    assert len(got) == len(want)
    assert np.abs(np.array(got) - want).max() < 0.02


def test_a_board_that_fits_no_page_gets_its_own_or_is_refused(tmp_path):
    large = Board(square_mm=80.0, marker_mm=60.0)
    assert 'page of 568 x 408 mm' in write_board(large, tmp_path / 'board.pdf')
    with pytest.raises(CalibrationError, match='board needs 568 x 408 mm, more than a4'):
        write_board(large, tmp_path / 'board.pdf', paper='a4')
    with pytest.raises(CalibrationError, match="paper is 'a5'; allowed: a4, letter, a3, board"):
        write_board(BOARD, tmp_path / 'board.pdf', paper='a5')
    with pytest.raises(CalibrationError, match=r"suffix '.svg'; allowed: .pdf, .png"):
        write_board(BOARD, tmp_path / 'board.svg')
    with pytest.raises(CalibrationError, match='dpi is 3; allowed: 30 to 2400'):
        write_board(BOARD, tmp_path / 'board.png', dpi=3)
    with pytest.raises(CalibrationError, match='No such file or directory'):
        write_board(BOARD, tmp_path / 'nowhere' / 'board.png')


def test_the_shipped_board_is_the_default_one():
    assert read_board(share_path('calibration', 'board.yaml')) == BOARD


def test_a_board_survives_its_document():
    board = Board(9, 6, 25.5, 19.0, 'DICT_4X4_50', True)
    assert board_from_document(board_to_document(board), 'here') == board


@pytest.mark.parametrize(
    ('text', 'line'),
    [
        ('[7, 5]', 'is no board; keys: columns'),
        ('{colums: 7}', "unknown key 'colums'; known: columns, rows"),
        ('{columns: 7.5}', 'columns is 7.5; allowed: int'),
        ('{square_mm: wide}', "square_mm is 'wide'; allowed: float"),
        ('{columns: true}', 'columns is True; allowed: int'),
        ('{marker_mm: 41}', 'squares of 40 mm and markers of 41 mm; allowed: 0 < marker'),
        ('{columns: 2}', '2 x 5 squares; allowed: 3 to 40 a side'),
        ('{columns: [', 'while parsing'),
    ],
)
def test_files_that_are_no_board_are_refused_with_one_line(tmp_path, text, line):
    path = tmp_path / 'board.yaml'
    path.write_text(text)
    with pytest.raises(CalibrationError) as error:
        read_board(path)
    assert line in str(error.value)
    assert '\n' not in str(error.value)


def test_dictionaries_that_do_not_exist_or_do_not_suffice_are_refused():
    with pytest.raises(CalibrationError, match="unknown dictionary 'DICT_9X9'; known: DICT_4X4"):
        Board(dictionary='DICT_9X9').charuco()
    with pytest.raises(CalibrationError, match='needs 60 markers; DICT_4X4_50 has 50'):
        Board(12, 10, dictionary='DICT_4X4_50').charuco()
