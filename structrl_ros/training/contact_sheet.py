"""Source and edit side by side, for people who judge whether an edit says what it should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image
from PIL import ImageDraw

from structrl_ros.training.counterfactual_set import SourceRecord
from structrl_ros.training.counterfactual_set import read_pictures

#: Columns of a sheet, pictures of one camera in each.
COLUMNS = 4
_MARGIN, _LINE = 6, 16


def draw_sheet(folder: Path, record: SourceRecord, role: str = 'head') -> Image.Image:
    """Return the sheet of one episode: for each operator a row of sources above a row of edits.

    Frames are spread evenly over the edited interval.

    Raises:
        CheckpointError: If a file of the episode cannot be read.
    """
    size = record.size_px
    row = 2 * size + _LINE + _MARGIN
    sheet = Image.new(
        'RGB', (COLUMNS * (size + _MARGIN), _LINE + row * len(record.edits)), 'white'
    )
    write = ImageDraw.Draw(sheet)
    write.text((2, 2), f'{record.episode}: {record.instruction}', fill='black')
    source = read_pictures(folder, record.file)[role]
    for number, edit in enumerate(record.edits):
        pictures = read_pictures(folder, edit.file)[role]
        top = _LINE + number * row
        about = f' of {edit.target}' if edit.target else ''
        write.text(
            (2, top + 2),
            f'{edit.operator}{about} ({edit.group}, {edit.primitive}), frames {edit.start} to '
            f'{edit.stop - 1} of {record.frames}: source above, edit below',
            fill='black',
        )
        picks = np.linspace(0, len(pictures) - 1, COLUMNS).round().astype(int)
        for column, pick in enumerate(picks):
            at = (column * (size + _MARGIN), top + _LINE)
            sheet.paste(Image.fromarray(source[edit.edited_frames[pick]]), at)
            sheet.paste(Image.fromarray(pictures[pick]), (at[0], at[1] + size))
    return sheet
