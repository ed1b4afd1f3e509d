"""A small video of one camera as bytes of a page: VP9 in WebM, in the body's own time.

VP9 plays in every browser of today without a licence. Needs PyAV (`requirements/export.txt`).
"""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from PIL import Image

from structrl_ros.recording.film import LONGEST_SIDE
from structrl_ros.recording.film import Picture

#: Most bytes of a clip. A clip that is larger is made again, smaller and coarser.
MOST_BYTES = 1_500_000
#: Longest side in pixels, and VP9's constant quality (0 to 63, more is coarser), by attempt.
ATTEMPTS = ((LONGEST_SIDE, 36), (256, 44), (192, 52), (128, 60))
#: Pictures between two key frames: how far a seek has to decode.
KEY_FRAMES = 20
_MS = Fraction(1, 1000)


@dataclass(frozen=True, slots=True)
class Clip:
    """A video of a camera; `start_s` is the body's time of its first picture."""

    role: str
    width: int
    height: int
    start_s: float
    duration_s: float
    pictures: int
    webm: bytes

    @property
    def data_url(self) -> str:
        """The video as a data URL."""
        return 'data:video/webm;base64,' + b64encode(self.webm).decode('ascii')


def can_encode() -> bool:
    """Tell whether PyAV is installed."""
    try:
        import av  # noqa: F401
    except ImportError:
        return False
    return True


def make_clip(role: str, pictures: Sequence[Picture], most_bytes: int = MOST_BYTES) -> Clip | None:
    """Return the video of a camera; None where it is larger than `most_bytes` however coarse.

    Args:
        role: Of the camera.
        pictures: In order of time, two and more, of one size.
        most_bytes: Cap on its size.
    """
    if len(pictures) < 2:
        return None
    for longest, quality in ATTEMPTS:
        width, height = _size(pictures[0], longest)
        webm = _encode(pictures, width, height, quality)
        if len(webm) <= most_bytes:
            start_s, end_s = pictures[0].t_s, pictures[-1].t_s
            return Clip(role, width, height, start_s, end_s - start_s, len(pictures), webm)
    return None


def _size(picture: Picture, longest: int) -> tuple[int, int]:
    """Return width and height, even as 4:2:0 wants them, no larger than the picture."""
    height, width = picture.pixels.shape[:2]
    scale = min(1.0, longest / max(width, height))
    return max(2, round(width * scale / 2) * 2), max(2, round(height * scale / 2) * 2)


def _encode(pictures: Sequence[Picture], width: int, height: int, quality: int) -> bytes:
    import av

    options = {
        'deadline': 'realtime',
        'cpu-used': '8',
        'crf': str(quality),
        'g': str(KEY_FRAMES),
        'threads': '1',
    }
    out = io.BytesIO()
    with av.open(out, 'w', format='webm') as container:
        stream = container.add_stream('libvpx-vp9', rate=10, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, 'yuv420p'
        stream.codec_context.time_base = _MS
        stream.bit_rate = 0  # quality alone decides
        last_ms = -1
        for picture in pictures:
            image = Image.fromarray(picture.pixels).resize((width, height))
            frame = av.VideoFrame.from_ndarray(np.asarray(image), format='rgb24')
            last_ms = max(last_ms + 1, round((picture.t_s - pictures[0].t_s) * 1000))
            frame.pts, frame.time_base = last_ms, _MS
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return out.getvalue()
