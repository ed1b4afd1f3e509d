"""Pixels of every encoding become the same RGB picture, by raw rows and by files."""

import io

import numpy as np
import pytest
from PIL import Image

from structrl_ros.errors import MessageError
from structrl_ros.pixel_formats import ENCODINGS
from structrl_ros.pixel_formats import rgb_from_file
from structrl_ros.pixel_formats import rgb_from_rows

cv2 = pytest.importorskip('cv2', reason='needs OpenCV: requirements/sensors.txt')

#: Red left, green right, blue below: every mix-up of channels or rows shows.
PICTURE = np.zeros((8, 12, 3), np.uint8)
PICTURE[:4, :6] = (200, 16, 24)
PICTURE[:4, 6:] = (16, 180, 40)
PICTURE[4:] = (24, 32, 190)
GREY = np.arange(96, dtype=np.uint8).reshape(8, 12)


def mosaic(pattern):
    """Return the picture as a sensor with this pattern of red, green and blue sees it."""
    raw = np.zeros(PICTURE.shape[:2], np.uint8)
    for at, letter in enumerate(pattern):
        y, x = divmod(at, 2)
        raw[y::2, x::2] = PICTURE[y::2, x::2, 'rgb'.index(letter)]
    return raw


def packed_yuv(uyvy):
    """Return the picture as 4:2:2 video levels (BT.601), two bytes a pixel."""
    red, green, blue = (PICTURE[..., i].astype(float) for i in range(3))
    luma = 16 + 0.257 * red + 0.504 * green + 0.098 * blue
    u = 128 - 0.148 * red - 0.291 * green + 0.439 * blue
    v = 128 + 0.439 * red - 0.368 * green - 0.071 * blue
    packed = np.zeros((8, 12, 2))
    packed[..., 1 if uyvy else 0] = luma
    packed[:, 0::2, 0 if uyvy else 1] = u[:, 0::2]
    packed[:, 1::2, 0 if uyvy else 1] = v[:, 0::2]
    return packed.round().astype(np.uint8)


def planar_yuv(order):
    packed = packed_yuv(uyvy=False).astype(int)
    luma, u, v = packed[..., 0], packed[::2, 0::2, 1], packed[::2, 1::2, 1]
    pairs = {'uv': (u, v), 'vu': (v, u)}[order]
    chroma = np.stack(pairs, axis=-1).reshape(4, 12)
    return np.vstack([luma, chroma]).astype(np.uint8)


COLOUR = {
    'rgb8': PICTURE,
    'bgr8': PICTURE[..., ::-1],
    '8UC3': PICTURE[..., ::-1],
    'rgba8': np.dstack([PICTURE, np.full((8, 12), 7, np.uint8)]),
    'bgra8': np.dstack([PICTURE[..., ::-1], np.full((8, 12), 7, np.uint8)]),
    '8UC4': np.dstack([PICTURE[..., ::-1], np.full((8, 12), 7, np.uint8)]),
    'rgb16': PICTURE.astype('<u2') * 257,
    'bgr16': PICTURE[..., ::-1].astype('<u2') * 257,
}
NEAR_COLOUR = {
    'yuyv': packed_yuv(uyvy=False),
    'yuv422_yuy2': packed_yuv(uyvy=False),
    'uyvy': packed_yuv(uyvy=True),
    'yuv422': packed_yuv(uyvy=True),
    'nv12': planar_yuv('uv'),
    'nv21': planar_yuv('vu'),
}
BAYER = {f'bayer_{p}8': mosaic(p) for p in ('rggb', 'bggr', 'gbrg', 'grbg')}
GREYS = {
    'mono8': GREY,
    '8UC1': GREY,
    'mono16': GREY.astype('<u2') * 256 + 3,
    '16UC1': GREY.astype('<u2') * 16 + 3,
    '32FC1': (GREY * 0.016 + 0.002).astype('<f4'),
}


def decoded(encoding, rows, padding=5, big_endian=False):
    rows = np.ascontiguousarray(rows)
    if big_endian:
        rows = rows.astype(rows.dtype.newbyteorder('>'))
    flat = rows.reshape(rows.shape[0], -1).view(np.uint8)
    filler = np.full((len(flat), padding), 255, np.uint8)
    padded = np.hstack([flat, filler])
    return rgb_from_rows(
        encoding,
        padded.tobytes(),
        width=12,
        height=8,
        step=padded.shape[1],
        big_endian=big_endian,
    )


def test_every_encoding_has_a_case_here():
    assert {*COLOUR, *NEAR_COLOUR, *BAYER, *GREYS} == set(ENCODINGS)


@pytest.mark.parametrize('encoding', COLOUR)
def test_colours_keep_their_channels_with_padded_rows(encoding):
    image = decoded(encoding, COLOUR[encoding])
    assert image.dtype == np.uint8
    assert (image == PICTURE).all()


@pytest.mark.parametrize('encoding', NEAR_COLOUR)
def test_video_encodings_give_the_colours_to_a_few_levels(encoding):
    image = decoded(encoding, NEAR_COLOUR[encoding])
    assert np.abs(image.astype(int) - PICTURE).max() <= 6


@pytest.mark.parametrize('encoding', BAYER)
def test_mosaics_give_the_colours_away_from_edges(encoding):
    image = decoded(encoding, BAYER[encoding]).astype(int)
    for rows, columns in ((slice(1, 3), slice(1, 5)), (slice(1, 3), slice(7, 11))):
        assert np.abs(image[rows, columns] - PICTURE[rows, columns]).max() <= 1


@pytest.mark.parametrize('big_endian', [False, True])
@pytest.mark.parametrize('encoding', GREYS)
def test_grey_and_depth_are_spread_over_the_channels(encoding, big_endian):
    image = decoded(encoding, GREYS[encoding], big_endian=big_endian)
    assert (image == GREY[..., None]).all()


def test_unknown_depth_is_black_and_far_is_white():
    far = decoded('32FC1', np.full((8, 12), 9.0, '<f4'))
    unknown = decoded('32FC1', np.full((8, 12), np.nan, '<f4'))
    assert far.min() == 255
    assert unknown.max() == 0


def test_plain_rgb_is_not_copied():
    data = PICTURE.tobytes()
    image = rgb_from_rows('rgb8', data, width=12, height=8, step=36)
    assert not image.flags.owndata
    assert not image.flags.writeable


@pytest.mark.parametrize(
    ('changes', 'line'),
    [
        ({'encoding': 'hsv8'}, "Image.encoding is 'hsv8'; allowed: rgb8, bgr8"),
        ({'step': 35}, 'Image.step is 35; allowed: at least 36'),
        ({'height': 9}, 'Image.data has 288 bytes; allowed: height x step = 324'),
        ({'width': 9000}, 'Image is 9000 x 8; allowed: sides 1 to 8192'),
    ],
)
def test_rows_that_do_not_fit_are_refused_with_one_line(changes, line):
    given = {'encoding': 'rgb8', 'width': 12, 'height': 8, 'step': 36, **changes}
    with pytest.raises(MessageError) as error:
        rgb_from_rows(given.pop('encoding'), PICTURE.tobytes(), **given)
    assert str(error.value).startswith(line)


def packed_file(array, kind, **options):
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, kind, **options)
    return buffer.getvalue()


def test_files_of_jpeg_and_png_are_read():
    assert (rgb_from_file(packed_file(PICTURE, 'PNG'), 'rgb8; png compressed ') == PICTURE).all()
    jpeg = rgb_from_file(packed_file(PICTURE, 'JPEG', quality=95, subsampling=0), 'jpeg')
    assert np.abs(jpeg.astype(int) - PICTURE).mean() < 4
    assert (rgb_from_file(packed_file(GREY, 'PNG'), 'png') == GREY[..., None]).all()


def test_depth_behind_the_header_of_compressed_depth_is_read():
    depth = packed_file(GREY.astype(np.uint16) * 16, 'PNG')
    image = rgb_from_file(bytes(12) + depth, '16UC1; compressedDepth png')
    assert (image == GREY[..., None]).all()
    mono = rgb_from_file(packed_file(GREY.astype(np.uint16) * 256, 'PNG'), 'mono16; png')
    assert (mono == GREY[..., None]).all()


@pytest.mark.parametrize('cut', [0, 20])
def test_cut_files_are_refused_with_one_line(cut):
    data = packed_file(PICTURE, 'PNG')[:cut]
    with pytest.raises(MessageError, match=r'CompressedImage .* cannot be read'):
        rgb_from_file(data, 'png')
