# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions of video, each but `transition` and `with_audio` also a method: `film.extract_frame(timestamp=1.5)`."""

from typing import Any

from appdb import Audio, Expr, Float, Image, Json, Video

Text = Expr | str | None
Whole = Expr | int | None
Number = Expr | float | None
Truth = Expr | bool | None

FUNCTIONS: dict[str, Any]

def extract_frame(self: Any, /, *, timestamp: Number) -> Image:
    """The frame that is shown `timestamp` seconds after the beginning; null after the end."""

def extract_audio(self: Any, /, stream_idx: Whole = 0, format: Text = "wav", codec: Text = None) -> Audio:
    """The audio of a video as a file: wav, mp3, flac or mp4. Null for a video without such a stream."""

def get_metadata(self: Any, /) -> Json:
    """`{"size", "bit_rate", "bit_exact", "metadata", "streams": [...]}` of the file; sizes in bytes, rates in bits per second."""

def get_duration(self: Any, /) -> Float:
    """The length in seconds; null if the file does not say it."""

def clip(
    self: Any,
    /,
    *,
    start_time: Number,
    end_time: Number = None,
    duration: Number = None,
    mode: Text = "accurate",
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """The part from `start_time` until `end_time`, or for `duration`. Mode 'fast' copies frames, from the key frame before."""

def resize(
    self: Any,
    /,
    *,
    width: Whole = None,
    height: Whole = None,
    scale: Number = None,
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """The video of another size: one side keeps its proportions, both stretch it, `scale` multiplies both."""

def crop(
    self: Any,
    bbox: Any,
    /,
    *,
    bbox_format: Text = "xywh",
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """The part of the frames in a box of pixels: xywh from the top left, xyxy with two corners, or cxcywh around a center."""

def grayscale(self: Any, /, *, video_encoder: Text = None, video_encoder_args: Any = None) -> Video:
    """The video in grey."""

def mirror_x(self: Any, /, *, video_encoder: Text = None, video_encoder_args: Any = None) -> Video:
    """The video with left and right exchanged."""

def mirror_y(self: Any, /, *, video_encoder: Text = None, video_encoder_args: Any = None) -> Video:
    """The video with top and bottom exchanged."""

def rotate(
    self: Any,
    /,
    *,
    angle: Number,
    unit: Text = "deg",
    expand: Truth = False,
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """The frames turned counter-clockwise, in degrees or radians ('rad'): cut to their size, or with `expand` whole."""

def adjust_brightness(
    self: Any,
    /,
    *,
    factor: Number,
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """The video with its brightness multiplied: 0 is black, 1 changes nothing."""

def fade_in(
    self: Any,
    /,
    *,
    duration: Number = 1.0,
    color: Text = "black",
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """The video with a fade from a color, by name or as '#ff0000', in its first `duration` seconds."""

def fade_out(
    self: Any,
    /,
    *,
    duration: Number = 1.0,
    color: Text = "black",
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """The video with a fade to a color, by name or as '#ff0000', in its last `duration` seconds."""

def speed(self: Any, /, *, factor: Number, video_encoder: Text = None, video_encoder_args: Any = None) -> Video:
    """The video faster (above 1) or slower, with its audio at the same pitch."""

def ffmpeg_filter(
    self: Any,
    /,
    *,
    vf: Text,
    af: Text = None,
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """The frames, and with `af` the audio, through filters as FFmpeg's -vf and -af take them. Both are constants."""

def scroll(
    self: Any,
    /,
    *,
    w: Whole = None,
    h: Whole = None,
    x_speed: Number = 0.0,
    y_speed: Number = 0.0,
    x_start: Whole = 0,
    y_start: Whole = 0,
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """A window of w x h pixels that moves over the frames, in pixels per second, until it reaches an edge."""

def pan(self: Any, /, x_sign: Whole = 0, y_sign: Whole = 0, crop_pct: Number = 0.2) -> Video:
    """A window smaller by `crop_pct` that moves over the whole range once: signs 1 right and down, -1 left and up, 0 centered."""

def zoom(
    self: Any,
    /,
    *,
    start_scale: Number = 1.0,
    end_scale: Number = 1.3,
    center: Any = None,
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """The video enlarged from `start_scale` to `end_scale`, around [x, y] from 0 to 1, or its middle."""
