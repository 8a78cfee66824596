"""Functions of video, each but `read_frame`, `transition` and `with_audio` also a method: `film.extract_frame(timestamp=1.5)`.

A video is the path of a file. A function that gives a video writes a new MP4 file (H.264 and AAC) of the frames as they
are shown; a side of an odd number of pixels loses one. Audio stays as it is unless its function says otherwise.
"""

from __future__ import annotations

from appdb.functions._video import VIDEO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Audio
    from typing import Any as Image
    from typing import Any as Json
    from typing import Any as Video

function, FUNCTIONS = VIDEO.function, VIDEO.functions
__getattr__ = VIDEO.unknown

_FILM = "64x48 10@10 440Hz"  # For the examples: a second of ten frames with sound.
_SILENT = "64x48 10@10"


@function([(_FILM, 1.0, None), (_FILM, -0.1, ValueError), ("broken", 0.0, ValueError)], needs=("pillow",))
def extract_frame(self: Video, /, *, timestamp: float) -> Image | None:
    """The frame that is shown `timestamp` seconds after the beginning; null after the end."""
    from appdb.media.films import frame_at

    return frame_at(self, timestamp)


@function(
    [(_SILENT, {"time": 9.0}, ValueError), (_SILENT, {}, ValueError)],
    is_method=False,
    needs=("pillow",),
)
def read_frame(video: Video, frame_attrs: Json, /) -> Image:
    """The frame of a video that has the `frame_attrs` of frame_iterator. Frames in their order are read by one decoder."""
    from appdb.iterators.frames import frame_of

    return frame_of(video, frame_attrs)


@function(
    [(_FILM, "1.0s"), (_FILM, 0, "mp3", "1.0s"), (_FILM, 1, None), (_SILENT, None), (_FILM, 0, "xyz", ValueError)]
)
def extract_audio(self: Video, /, stream_idx: int = 0, format: str = "wav", codec: str | None = None) -> Audio | None:
    """The audio of a video as a file: wav, mp3, flac or mp4. Null for a video without such a stream."""
    from appdb.media.films import audio_of

    return audio_of(self, stream_idx, format, codec)


@function([("broken", ValueError)])
def get_metadata(self: Video, /) -> Json:
    """`{"size", "bit_rate", "bit_exact", "metadata", "streams": [...]}` of the file; sizes in bytes, rates in bits per second."""
    from appdb.media.facts import metadata

    return metadata(self, "video")


@function([(_FILM, 1.0), ("broken", ValueError)])
def get_duration(self: Video, /) -> float | None:
    """The length in seconds; null if the file does not say it."""
    from appdb.media.streams import duration

    return duration(self)


@function(
    [(_FILM, 0.2, 0.6, "64x48 4@10 sound"), (_FILM, 0.2, None, 0.5, "64x48 5@10 sound"), (_FILM, 1.5, None)]
    + [(_FILM, 0.5, 0.4, ValueError), (_FILM, 0.0, 0.5, 0.5, ValueError), (_FILM, 0.0, None, None, "slow", ValueError)]
)
def clip(
    self: Video,
    /,
    *,
    start_time: float,
    end_time: float | None = None,
    duration: float | None = None,
    mode: str = "accurate",
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video | None:
    """The part from `start_time` until `end_time`, or for `duration`. Mode 'fast' copies frames, from the key frame before."""
    from appdb.media.films import clipped

    return clipped(self, start_time, end_time, duration, mode, video_encoder, video_encoder_args)


@function(
    [(_SILENT, 32, "32x24 10@10"), (_SILENT, None, 24, "32x24 10@10"), (_SILENT, None, None, 0.5, "32x24 10@10")]
    + [
        (_SILENT, 0, ValueError),
        (_SILENT, ValueError),
        (_SILENT, 32, None, 0.5, ValueError),
        (_SILENT, None, None, 900.0, ValueError),
    ]
)
def resize(
    self: Video,
    /,
    *,
    width: int | None = None,
    height: int | None = None,
    scale: float | None = None,
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """The video of another size: one side keeps its proportions, both stretch it, `scale` multiplies both."""
    from appdb.media.films import resized

    return resized(self, width, height, scale, video_encoder, video_encoder_args)


@function(
    [(_FILM, [0, 0, 32, 16], "32x16 10@10 sound"), (_SILENT, [32, 24, 32, 24], "cxcywh", "32x24 10@10")]
    + [
        (_SILENT, [40, 0, 30, 20], ValueError),
        (_SILENT, [0, 0, 8, 8], "yxyx", ValueError),
        (_SILENT, [0, 0, 8], ValueError),
    ]
)
def crop(
    self: Video,
    bbox: Json,
    /,
    *,
    bbox_format: str = "xywh",
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """The part of the frames in a box of pixels: xywh from the top left, xyxy with two corners, or cxcywh around a center."""
    from appdb.media.films import cropped

    return cropped(self, bbox, bbox_format, video_encoder, video_encoder_args)


@function([(_FILM, "64x48 10@10 sound")])
def grayscale(self: Video, /, *, video_encoder: str | None = None, video_encoder_args: Json | None = None) -> Video:
    """The video in grey."""
    from appdb.media.films import filtered

    return filtered(self, "format=gray", video_encoder, video_encoder_args)


@function([(_FILM, "64x48 10@10 sound")])
def mirror_x(self: Video, /, *, video_encoder: str | None = None, video_encoder_args: Json | None = None) -> Video:
    """The video with left and right exchanged."""
    from appdb.media.films import filtered

    return filtered(self, "hflip", video_encoder, video_encoder_args)


@function([(_FILM, "64x48 10@10 sound")])
def mirror_y(self: Video, /, *, video_encoder: str | None = None, video_encoder_args: Json | None = None) -> Video:
    """The video with top and bottom exchanged."""
    from appdb.media.films import filtered

    return filtered(self, "vflip", video_encoder, video_encoder_args)


@function(
    [
        (_FILM, 90.0, "64x48 10@10 sound"),
        (_SILENT, 90.0, "deg", True, "48x64 10@10"),
        (_SILENT, 90.0, "turns", ValueError),
    ]
)
def rotate(
    self: Video,
    /,
    *,
    angle: float,
    unit: str = "deg",
    expand: bool = False,
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """The frames turned counter-clockwise, in degrees or radians ('rad'): cut to their size, or with `expand` whole."""
    from appdb.media.films import rotated

    return rotated(self, angle, unit, expand, video_encoder, video_encoder_args)


@function([(_FILM, 0.5, "64x48 10@10 sound"), (_FILM, -1.0, ValueError)])
def adjust_brightness(
    self: Video, /, *, factor: float, video_encoder: str | None = None, video_encoder_args: Json | None = None
) -> Video:
    """The video with its brightness multiplied: 0 is black, 1 changes nothing."""
    from appdb.media.films import brighter

    return brighter(self, factor, video_encoder, video_encoder_args)


@function([(_FILM, 0.5, "64x48 10@10 sound"), (_FILM, 0.5, "#fff", ValueError), (_FILM, 0.0, ValueError)])
def fade_in(
    self: Video,
    /,
    *,
    duration: float = 1.0,
    color: str = "black",
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """The video with a fade from a color, by name or as '#ff0000', in its first `duration` seconds."""
    from appdb.media.films import faded

    return faded(self, "in", duration, color, video_encoder, video_encoder_args)


@function([(_FILM, 0.5, "64x48 10@10 sound"), (_FILM, 0.5, "bl ack", ValueError)])
def fade_out(
    self: Video,
    /,
    *,
    duration: float = 1.0,
    color: str = "black",
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """The video with a fade to a color, by name or as '#ff0000', in its last `duration` seconds."""
    from appdb.media.films import faded

    return faded(self, "out", duration, color, video_encoder, video_encoder_args)


@function(
    [
        (_FILM, 2.0, "64x48 5@10 sound"),
        (_SILENT, 0.5, "64x48 10@5"),
        (_FILM, 0.0, ValueError),
        (_FILM, 1000.0, ValueError),
    ]
)
def speed(
    self: Video, /, *, factor: float, video_encoder: str | None = None, video_encoder_args: Json | None = None
) -> Video:
    """The video faster (above 1) or slower, with its audio at the same pitch."""
    from appdb.media.films import faster

    return faster(self, factor, video_encoder, video_encoder_args)


@function(
    [(_SILENT, "hflip,scale=32:24", "32x24 10@10"), (_FILM, "null", "volume=0.5", "64x48 10@10 sound")]
    + [(_SILENT, "nosuch", ValueError), (_SILENT, "null", "anull", ValueError), (_SILENT, "movie=x", ValueError)]
)
def ffmpeg_filter(
    self: Video,
    /,
    *,
    vf: str,
    af: str | None = None,
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """The frames, and with `af` the audio, through filters as FFmpeg's -vf and -af take them. Both are constants."""
    from appdb.media.films import filtered

    return filtered(self, vf, video_encoder, video_encoder_args, af)


@function([(_SILENT, 32, None, 10.0, "32x48 10@10"), (_SILENT, 0, ValueError), (_SILENT, 65, ValueError)])
def scroll(
    self: Video,
    /,
    *,
    w: int | None = None,
    h: int | None = None,
    x_speed: float = 0.0,
    y_speed: float = 0.0,
    x_start: int = 0,
    y_start: int = 0,
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """A window of w x h pixels that moves over the frames, in pixels per second, until it reaches an edge."""
    from appdb.media.films import scrolled

    return scrolled(self, (w, h), (x_speed, y_speed), (x_start, y_start), video_encoder, video_encoder_args)


@function([(_SILENT, 1, 0, 0.5, "32x24 10@10"), (_SILENT, 2, ValueError), (_SILENT, 1, 0, 1.0, ValueError)])
def pan(self: Video, /, x_sign: int = 0, y_sign: int = 0, crop_pct: float = 0.2) -> Video:
    """A window smaller by `crop_pct` that moves over the whole range once: signs 1 right and down, -1 left and up, 0 centered."""
    from appdb.media.films import panned

    return panned(self, x_sign, y_sign, crop_pct)


@function(
    [(_SILENT, 1.0, 2.0, "64x48 10@10"), (_SILENT, 0.5, ValueError), (_SILENT, 1.0, 2.0, [0.5], ValueError)],
    needs=("pillow",),
)
def zoom(
    self: Video,
    /,
    *,
    start_scale: float = 1.0,
    end_scale: float = 1.3,
    center: Json | None = None,
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """The video enlarged from `start_scale` to `end_scale`, around [x, y] from 0 to 1, or its middle."""
    from appdb.media.films import zoomed

    return zoomed(self, start_scale, end_scale, center, video_encoder, video_encoder_args)


from appdb.functions import _video_joins, _video_scenes  # noqa: E402, F401  # They declare the rest.
