"""What the functions of one video compute."""

import math
import re

from appdb.media.streams import (
    MAX_FRAME_PIXELS,
    Facts,
    at_time,
    exact,
    pictures,
    refuse_size,
    sounds,
)
from appdb.media.streams import duration as length_of
from appdb.media.writing import (
    MAX_FRAMES,
    audio_codec,
    encoded_audio,
    kept_audio,
    save_audio,
    save_packets,
    save_video,
)
from appdb.kinds._av import opened

MAX_FACTOR = 100
MAX_RATE = 240
_COLOR = re.compile(r"#[0-9a-fA-F]{6}|[A-Za-z]{3,30}")


def frame_at(path, timestamp):
    if not timestamp >= 0:
        raise ValueError(f"extract_frame takes a timestamp from 0 seconds on, not {timestamp}")
    length = length_of(path)
    if length is not None and timestamp >= length:
        return None
    found = None
    # The frame that is shown then may begin earlier, and no header says when.
    for begin in (max(0.0, timestamp - 1.0), 0.0):
        for frame in pictures(path, start=begin):
            if begin + frame.time > timestamp + 1e-6:
                break
            found = frame
        if found is not None or begin == 0:
            break
    return None if found is None else found.to_image()


def audio_of(path, index, format, codec):
    audio_codec(format, codec)
    if index < 0:
        raise ValueError(f"extract_audio takes a stream_idx from 0 on, not {index}")
    with opened(path) as container:
        if index >= len(container.streams.audio):
            return None
    return save_audio(sounds(path, index=index), format, codec)


def clipped(path, start, end, duration, mode, encoder, args):
    if not start >= 0:
        raise ValueError(f"clip takes a start_time from 0 seconds on, not {start}")
    if end is not None and duration is not None:
        raise ValueError("clip takes end_time or duration, not both")
    if mode not in ("accurate", "fast"):
        raise ValueError(f"clip takes the mode 'accurate' or 'fast', not {mode[:40]!r}")
    if mode == "fast" and (encoder is not None or args is not None):
        raise ValueError("clip with mode 'fast' encodes nothing and takes no video_encoder")
    stop = start + duration if duration is not None else end
    if stop is not None and not stop > start:
        raise ValueError(f"clip takes an end after its start, not {start} to {stop}")
    facts = Facts(path)
    if facts.seconds is not None and start >= facts.seconds:
        return None
    if mode == "fast":
        return save_packets(path, start, stop)
    audio = encoded_audio(sounds(path, start=start, stop=stop)) if facts.has_audio else None
    return save_video(pictures(path, start=start, stop=stop), facts.rate, audio, encoder, args)


def filtered(path, filters, encoder=None, args=None, audio=None, overlays=()):
    """The video through filters. `audio`: filters for the audio, which otherwise stays as it is."""
    facts = Facts(path)
    if audio is not None and not facts.has_audio:
        raise ValueError("the video has no audio, which the audio filter could change")
    sound = kept_audio(path) if audio is None else encoded_audio(sounds(path, audio))
    return save_video(pictures(path, filters, overlays=overlays), facts.rate, sound, encoder, args)


def resized(path, width, height, scale, encoder, args):
    given = [one for one in (width, height, scale) if one is not None]
    if not given or (scale is not None and len(given) > 1):
        raise ValueError("resize takes width, height or both, or scale alone")
    if not all(one > 0 for one in given):
        raise ValueError(f"resize takes sides and scales above 0, not {', '.join(map(str, given))}")
    facts = Facts(path)
    if scale is not None:
        width, height = facts.width * scale, facts.height * scale
    elif height is None:
        height = width * facts.height / facts.width
    elif width is None:
        width = height * facts.width / facts.height
    if not width * height <= MAX_FRAME_PIXELS:
        raise ValueError(f"resize would make {width:.0f}x{height:.0f} pixels; at most {MAX_FRAME_PIXELS} are allowed")
    refuse_size(round(width), round(height))
    return filtered(path, f"scale={round(width)}:{round(height)}:flags=bicubic,setsar=1", encoder, args)


def cropped(path, box, format, encoder, args):
    if type(box) is not list or len(box) != 4 or not all(type(side) is int for side in box):
        raise ValueError(f"crop takes a box of four whole numbers, not {str(box)[:80]}")
    x, y, width, height = box
    if format == "xyxy":
        width, height = width - x, height - y
    elif format == "cxcywh":
        x, y = x - width // 2, y - height // 2
    elif format != "xywh":
        raise ValueError(f"crop takes the bbox_format 'xyxy', 'xywh' or 'cxcywh', not {format[:40]!r}")
    facts = Facts(path)
    if x < 0 or y < 0 or width < 2 or height < 2 or x + width > facts.width or y + height > facts.height:
        raise ValueError(f"the box {box} ({format}) is empty or not inside the frames of {facts.width}x{facts.height}")
    return filtered(path, f"crop={width}:{height}:{x}:{y}:exact=1", encoder, args)


def rotated(path, angle, unit, expand, encoder, args):
    if unit not in ("deg", "rad"):
        raise ValueError(f"rotate takes the unit 'deg' or 'rad', not {unit[:40]!r}")
    turn = -math.radians(angle) if unit == "deg" else -angle
    facts = Facts(path)
    if expand:
        width = round(abs(facts.width * math.cos(turn)) + abs(facts.height * math.sin(turn)))
        height = round(abs(facts.width * math.sin(turn)) + abs(facts.height * math.cos(turn)))
        refuse_size(width, height)
        return filtered(path, f"rotate={turn}:ow={width}:oh={height}", encoder, args)
    return filtered(path, f"rotate={turn}", encoder, args)


def brighter(path, factor, encoder, args):
    if not 0 <= factor <= MAX_FACTOR:
        raise ValueError(f"adjust_brightness takes a factor from 0 to {MAX_FACTOR}, not {factor}")
    lut = f"clip(val*{factor},0,255)"
    return filtered(path, f"lutrgb='r={lut}:g={lut}:b={lut}'", encoder, args)


def faded(path, way, duration, color, encoder, args):
    if not duration > 0:
        raise ValueError(f"fade_{way} takes a duration above 0 seconds, not {duration}")
    if not _COLOR.fullmatch(color):
        raise ValueError(f"fade_{way} takes a color by name or as '#ff0000', not {color[:40]!r}")
    begin = 0.0
    if way == "out":
        length = seconds_of(path, "fade_out")
        begin, duration = max(0.0, length - duration), min(duration, length)
    shade = color.replace("#", "0x")
    return filtered(path, f"fade=t={way}:st={begin}:d={duration}:color={shade}", encoder, args)


def seconds_of(path, function):
    """The length of a video. Raises ValueError where its file does not say it."""
    length = length_of(path)
    if length is None or length <= 0:
        raise ValueError(f"{function} needs the length of the video, which its file does not say")
    return length


def faster(path, factor, encoder, args):
    if not 1 / MAX_FACTOR <= factor <= MAX_FACTOR:
        raise ValueError(f"speed takes a factor from {1 / MAX_FACTOR} to {MAX_FACTOR}, not {factor}")
    facts, tempos, left = Facts(path), [], factor
    while left < 0.5:  # The filter's least tempo.
        tempos.append("atempo=0.5")
        left /= 0.5
    tempo = ",".join([*tempos, f"atempo={left}"])
    audio = encoded_audio(sounds(path, tempo)) if facts.has_audio else None
    filters = f"setpts=PTS/{factor}" + (f",fps={facts.rate}" if factor > 1 else "")
    rate = facts.rate if factor > 1 else facts.rate * _fraction(factor)
    return save_video(pictures(path, filters), rate, audio, encoder, args)


def _fraction(factor):
    from fractions import Fraction

    return Fraction(factor).limit_denominator(1_000)


def scrolled(path, size, speeds, starts, encoder, args):
    facts = Facts(path)
    width, height = (whole if side is None else side for side, whole in zip(size, (facts.width, facts.height)))
    if not (2 <= width <= facts.width and 2 <= height <= facts.height):
        raise ValueError(
            f"scroll takes a window inside the frames of {facts.width}x{facts.height}, not {width}x{height}"
        )
    x, y = (f"clip({begin}+{pace}*t,0,{room})" for begin, pace, room in zip(starts, speeds, ("iw-ow", "ih-oh")))
    return filtered(path, f"crop={width}:{height}:'{x}':'{y}'", encoder, args)


def panned(path, x_sign, y_sign, share):
    if x_sign not in (-1, 0, 1) or y_sign not in (-1, 0, 1):
        raise ValueError(f"pan takes signs of -1, 0 and 1, not {x_sign} and {y_sign}")
    if not 0 < share < 1:
        raise ValueError(f"pan takes a crop_pct between 0 and 1, not {share}")
    facts, seconds = Facts(path), seconds_of(path, "pan")
    sides = [int(side * (1 - share)) for side in (facts.width, facts.height)]
    rooms = [whole - side for whole, side in zip((facts.width, facts.height), sides)]
    starts = [room // 2 if sign == 0 else room if sign < 0 else 0 for room, sign in zip(rooms, (x_sign, y_sign))]
    speeds = [sign * room / seconds for room, sign in zip(rooms, (x_sign, y_sign))]
    return scrolled(path, sides, speeds, starts, None, None)


def zoomed(path, start, end, center, encoder, args):
    import av
    from PIL import Image

    if not (1 <= start <= MAX_FACTOR and 1 <= end <= MAX_FACTOR):
        raise ValueError(f"zoom takes scales from 1 to {MAX_FACTOR}, not {start} and {end}")
    x, y = (0.5, 0.5) if center is None else _checked_center(center)
    facts, seconds = Facts(path), seconds_of(path, "zoom")

    def frames():
        for frame in pictures(path, "format=rgb24"):
            time, image = frame.time, frame.to_image()
            scale = start + (end - start) * min(1.0, time / seconds)
            width, height = image.width / scale, image.height / scale
            left, top = (image.width - width) * x, (image.height - height) * y
            box = (left, top, left + width, top + height)
            yield at_time(av.VideoFrame.from_image(image.resize(image.size, Image.Resampling.BICUBIC, box)), time)

    return save_video(frames(), facts.rate, kept_audio(path), encoder, args)


def _checked_center(center):
    is_point = type(center) is list and len(center) == 2
    if not is_point or not all(type(one) in (int, float) and 0 <= one <= 1 for one in center):
        raise ValueError(f"zoom takes a center of [x, y] from 0 to 1, not {str(center)[:80]}")
    return center


def of_image(image, duration, fps, encoder, args):
    """A video of one image."""
    count = duration * checked_rate("to_video", fps)
    if not duration > 0 or count > MAX_FRAMES:
        raise ValueError(f"to_video takes a duration above 0 seconds with at most {MAX_FRAMES} frames, not {duration}")
    shown = image.convert("RGB")
    return of_images((shown for _ in range(max(1, round(count)))), fps, encoder, args)


def of_images(images, fps, encoder=None, args=None):
    """A video of images of one size."""
    import av

    frames = (at_time(av.VideoFrame.from_image(one), exact(number / fps)) for number, one in enumerate(images))
    return save_video(frames, fps, None, encoder, args)


def checked_rate(function, fps):
    """Frames per second."""
    if not 1 <= fps <= MAX_RATE:
        raise ValueError(f"{function} takes fps from 1 to {MAX_RATE}, not {fps}")
    return fps
