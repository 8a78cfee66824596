"""Functions of video with other media: overlays, joins, other audio; and those that take a video apart."""

from __future__ import annotations

from appdb.functions._video import VIDEO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Audio
    from typing import Any as Image
    from typing import Any as Json
    from typing import Any as Video

function = VIDEO.function

_FILM = "64x48 10@10 440Hz"  # For the examples: a second of ten frames with sound.
_SILENT = "64x48 10@10"
_LOGO = "RGBA 8x8 #00ff00ff"


@function(
    [(_FILM, _LOGO, "left", 4, "64x48 10@10 sound"), (_FILM, _LOGO, "above", ValueError)]
    + [
        (_SILENT, _LOGO, "left", 0, "top", 0, 9.0, ValueError),
        (_SILENT, _LOGO, "left", 0, "top", 0, None, 2.0, ValueError),
    ],
    needs=("pillow",),
)
def overlay_image(
    self: Video,
    image: Image,
    /,
    *,
    horizontal_align: str = "center",
    horizontal_margin: int = 0,
    vertical_align: str = "center",
    vertical_margin: int = 0,
    scale: float | None = None,
    opacity: float = 1.0,
    start_time: float | None = None,
    end_time: float | None = None,
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """The video with an image over it, from `start_time` to `end_time`. `scale`: its height as a part of the video's."""
    from appdb.media.overlays import Place, with_image

    place = Place(horizontal_align, horizontal_margin, vertical_align, vertical_margin, start_time, end_time)
    return with_image(self, image, place, scale, opacity, video_encoder, video_encoder_args)


@function(
    [
        (_FILM, "Hello", "64x48 10@10 sound"),
        (_SILENT, "x", "nosuch.ttf", ValueError),
        (_SILENT, "x", None, 0, ValueError),
    ]
    + [(_SILENT, "", "64x48 10@10"), (_SILENT, "x", None, 9, 0, "nocolor", ValueError)],
    needs=("pillow",),
)
def overlay_text(
    self: Video,
    text: str,
    /,
    *,
    font: str | None = None,
    font_size: int = 24,
    line_spacing: int = 0,
    color: str = "white",
    opacity: float = 1.0,
    horizontal_align: str = "center",
    horizontal_margin: int = 0,
    vertical_align: str = "center",
    vertical_margin: int = 0,
    box: bool = False,
    box_color: str = "black",
    box_opacity: float = 1.0,
    box_border: Json | None = None,
    start_time: float | None = None,
    end_time: float | None = None,
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """The video with text over it, drawn by Pillow. `box_border`: pixels around the text, one to four as in CSS."""
    from appdb.media.overlays import Place, text_image, with_image

    drawn = text_image(
        text, (font, font_size, line_spacing), (color, opacity), box and (box_color, box_opacity, box_border)
    )
    place = Place(horizontal_align, horizontal_margin, vertical_align, vertical_margin, start_time, end_time)
    return with_image(self, drawn, place, None, 1.0, video_encoder, video_encoder_args)


@function(
    [(_FILM, _FILM, "fade", 0.5, "64x48 15@10 sound"), (_SILENT, "32x24 10@10", "wipeleft", 0.5, "64x48 15@10")]
    + [(_SILENT, _SILENT, "nosuch", ValueError), (_SILENT, _SILENT, "fade", 1.5, ValueError)],
    is_method=False,
)
def transition(
    video1: Video,
    video2: Video,
    /,
    *,
    effect: str = "fade",
    duration: float = 1.0,
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """Both videos, with the end of the first going over into the second by an effect of FFmpeg's filter xfade."""
    from appdb.media.joins import crossed

    return crossed(video1, video2, effect, duration, video_encoder, video_encoder_args)


@function(
    [([_FILM, _SILENT], "64x48 20@10 sound"), ([_SILENT, "32x48 5@10", _SILENT], "64x48 25@10"), ([_FILM, None], None)]
    + [(["broken", _FILM], ValueError)],
    is_method=False,
    binding="bind_videos",
)
def concat_videos(
    videos: Json, /, *, video_encoder: str | None = None, video_encoder_args: Json | None = None
) -> Video | None:
    """The videos of a list one after the other, as large as the first; smaller ones get black bars. Null with a null in it."""
    from appdb.media.joins import concatenated

    if not videos or any(one is None for one in videos):
        return None
    return concatenated(videos, video_encoder, video_encoder_args)


@function(
    [(_SILENT, "2.0s 440Hz", "64x48 10@10 sound"), (_FILM, "0.5s 440Hz", 0.5, None, 0.1, 0.2, "64x48 5@10 sound")]
    + [
        (_FILM, "0.5s 440Hz", -1.0, ValueError),
        (_FILM, "0.5s 440Hz", 0.0, 0.0, ValueError),
        (_FILM, "0.5s 440Hz", 2.0, ValueError),
    ],
    is_method=False,
)
def with_audio(
    video: Video,
    audio: Audio,
    /,
    *,
    video_start_time: float = 0.0,
    video_duration: float | None = None,
    audio_start_time: float = 0.0,
    audio_duration: float | None = None,
) -> Video:
    """The frames of a video with other audio, each from its start and for its duration. Longer audio is cut."""
    from appdb.media.joins import dubbed

    return dubbed(video, audio, (video_start_time, video_duration), (audio_start_time, audio_duration))


@function(
    [
        (_FILM, "0.5s 440Hz", 0.5, "64x48 10@10 sound"),
        (_SILENT, "0.5s 440Hz", ValueError),
        (_FILM, "0.5s 440Hz", -1.0, ValueError),
    ]
    + [(_FILM, "0.5s 440Hz", 1.0, 1.0, 0.0, "last", ValueError)]
)
def mix_audio(
    self: Video,
    audio: Audio,
    /,
    *,
    audio_volume: float = 1.0,
    original_volume: float = 1.0,
    audio_start_time: float = 0.0,
    mix_duration: str = "longest",
    normalize: bool = False,
    dropout_transition: float = 2.0,
    align_to_video: str = "trim",
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """The video with more audio mixed into its own. `mix_duration`: longest, first, shortest. `align_to_video`: trim, pad, none."""
    from appdb.media.joins import mixed

    volumes = (original_volume, audio_volume)
    ending = (mix_duration, normalize, dropout_transition, align_to_video)
    return mixed(self, audio, volumes, audio_start_time, ending, video_encoder, video_encoder_args)


@function([(_FILM, "64x48 10@10"), (_FILM, "reverse", "64x48 10@10 sound"), (_FILM, "both", ValueError)])
def reverse(
    self: Video,
    /,
    audio: str = "drop",
    *,
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Video:
    """The frames from the last to the first. `audio`: drop, reverse (at most ten minutes), or keep as it is."""
    from appdb.media.joins import reversed_video

    return reversed_video(self, audio, video_encoder, video_encoder_args)


@function([("broken", 1.0, ValueError), (_FILM, ValueError)], binding="refuse_segments")
def segment_video(
    self: Video,
    /,
    *,
    duration: float | None = None,
    segment_times: Json | None = None,
    mode: str = "accurate",
    video_encoder: str | None = None,
    video_encoder_args: Json | None = None,
) -> Json:
    """In a function marked @udf: the parts of a video, a list of `{"segment_start", "segment_end", "video_segment"}` with paths."""
    from appdb.media.joins import segments

    return segments(self, duration, segment_times, mode, video_encoder, video_encoder_args)
