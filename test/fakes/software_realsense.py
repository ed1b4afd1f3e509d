"""A RealSense recording made by librealsense's own software device: no camera, nothing in git.

It is played back through the real `rs.pipeline`, so what a camera node does with it is what it
does with a camera.
"""

import gc
import time

import numpy as np

SERIAL = '0123456789'
FOCAL = (300.0, 301.0)
CENTRE = (160.5, 119.5)


def picture(number, width=320, height=240):
    """Return the colour picture of a frame: its number in red, a white square, a gradient."""
    image = np.zeros((height, width, 3), np.uint8)
    image[..., 0] = (7 * number) % 256
    image[..., 1] = np.arange(width) * 255 // width
    image[40:60, 100:140] = 255
    return image


def _stream(rs, sensor, kind, fmt, size, rate_hz, lens):
    stream = rs.video_stream()
    stream.type, stream.index, stream.uid, stream.fmt = kind, 0, int(kind == rs.stream.depth), fmt
    stream.width, stream.height = size
    stream.fps, stream.bpp = rate_hz, 2 if kind == rs.stream.depth else 3
    i = rs.intrinsics()
    i.width, i.height = size
    i.fx, i.fy = FOCAL
    i.ppx, i.ppy = CENTRE
    i.model, i.coeffs = rs.distortion.inverse_brown_conrady, list(lens)
    stream.intrinsics = i
    return sensor.add_video_stream(stream)


def _push(rs, sensor, profile, pixels, number, stamp_ms):
    frame = rs.software_video_frame()
    frame.bpp = pixels.itemsize * (pixels.shape[2] if pixels.ndim == 3 else 1)
    frame.pixels, frame.stride = pixels, frame.bpp * pixels.shape[1]
    frame.timestamp, frame.frame_number = stamp_ms, number
    frame.domain, frame.profile = rs.timestamp_domain.hardware_clock, profile
    if pixels.ndim == 2:
        frame.depth_units = 0.001
    sensor.on_video_frame(frame)


def record(
    path,
    frames=30,
    *,
    size=(320, 240),
    rate_hz=30,
    stamps_ms=None,
    numbers=None,
    pictures=None,
    lens=(0.0,) * 5,
):
    """Write a recording (`.db3`) of colour and depth.

    Args:
        path: The file.
        frames: How many.
        size: Width and height.
        rate_hz: Of both streams.
        stamps_ms: Device times of the frames, default: evenly from 1000 on.
        numbers: Frame numbers, default: from 1 on.
        pictures: Colour pictures, default: `picture(number)`.
        lens: Coefficients of the colour stream's inverse Brown-Conrady model.
    """
    import pyrealsense2 as rs

    device = rs.software_device()
    device.register_info(rs.camera_info.serial_number, SERIAL)
    color, depth = device.add_sensor('RGB Camera'), device.add_sensor('Stereo Module')
    depth.add_read_only_option(rs.option.depth_units, 0.001)
    seen = _stream(rs, color, rs.stream.color, rs.format.rgb8, size, rate_hz, lens)
    measured = _stream(rs, depth, rs.stream.depth, rs.format.z16, size, rate_hz, (0.0,) * 5)
    same_place = rs.extrinsics()
    same_place.rotation, same_place.translation = [1, 0, 0, 0, 1, 0, 0, 0, 1], [0, 0, 0]
    measured.register_extrinsics_to(seen, same_place)
    device.create_matcher(rs.matchers.default)
    recorder, queue = rs.recorder(str(path), device), rs.frame_queue(50)
    sensors = recorder.query_sensors()
    for sensor in sensors:
        sensor.open(sensor.get_stream_profiles()[0])
        sensor.start(queue)
    kept = []  # librealsense does not copy the pixels
    for at in range(frames):
        number = numbers[at] if numbers else at + 1
        stamp_ms = stamps_ms[at] if stamps_ms else 1000.0 + at * 1000.0 / rate_hz
        image = picture(number, *size) if pictures is None else pictures[at]
        levels = np.full((size[1], size[0]), 800 + number, np.uint16)
        kept += [image, levels]
        _push(rs, color, seen.as_video_stream_profile(), image, number, stamp_ms)
        _push(rs, depth, measured.as_video_stream_profile(), levels, number, stamp_ms)
        time.sleep(0.01)
    for sensor in sensors:
        sensor.stop()
        sensor.close()
    del recorder, sensors
    gc.collect()
    time.sleep(0.5)
