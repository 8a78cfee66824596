# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions of video, each but `read_frame`, `transition` and `with_audio` also a method: `film.extract_frame(timestamp=1.5)`."""

from typing import Any

from appdb import Audio, Expr, Float, Image, Json, Video

Text = Expr | str | None
Whole = Expr | int | None
Number = Expr | float | None
Truth = Expr | bool | None

FUNCTIONS: dict[str, Any]

def extract_frame(self: Any, /, *, timestamp: Number) -> Image:
    """The frame that is shown `timestamp` seconds after the beginning; null after the end."""

def read_frame(video: Any, frame_attrs: Any, /) -> Image:
    """The frame of a video that has the `frame_attrs` of frame_iterator. Frames in their order are read by one decoder."""

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

def overlay_image(
    self: Any,
    image: Any,
    /,
    *,
    horizontal_align: Text = "center",
    horizontal_margin: Whole = 0,
    vertical_align: Text = "center",
    vertical_margin: Whole = 0,
    scale: Number = None,
    opacity: Number = 1.0,
    start_time: Number = None,
    end_time: Number = None,
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """The video with an image over it, from `start_time` to `end_time`. `scale`: its height as a part of the video's."""

def overlay_text(
    self: Any,
    text: Text,
    /,
    *,
    font: Text = None,
    font_size: Whole = 24,
    line_spacing: Whole = 0,
    color: Text = "white",
    opacity: Number = 1.0,
    horizontal_align: Text = "center",
    horizontal_margin: Whole = 0,
    vertical_align: Text = "center",
    vertical_margin: Whole = 0,
    box: Truth = False,
    box_color: Text = "black",
    box_opacity: Number = 1.0,
    box_border: Any = None,
    start_time: Number = None,
    end_time: Number = None,
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """The video with text over it, drawn by Pillow. `box_border`: pixels around the text, one to four as in CSS."""

def transition(
    video1: Any,
    video2: Any,
    /,
    *,
    effect: Text = "fade",
    duration: Number = 1.0,
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """Both videos, with the end of the first going over into the second by an effect of FFmpeg's filter xfade."""

def concat_videos(videos: Any, /, *, video_encoder: Text = None, video_encoder_args: Any = None) -> Video:
    """The videos of a list one after the other, as large as the first; smaller ones get black bars. Null with a null in it."""

def with_audio(
    video: Any,
    audio: Any,
    /,
    *,
    video_start_time: Number = 0.0,
    video_duration: Number = None,
    audio_start_time: Number = 0.0,
    audio_duration: Number = None,
) -> Video:
    """The frames of a video with other audio, each from its start and for its duration. Longer audio is cut."""

def mix_audio(
    self: Any,
    audio: Any,
    /,
    *,
    audio_volume: Number = 1.0,
    original_volume: Number = 1.0,
    audio_start_time: Number = 0.0,
    mix_duration: Text = "longest",
    normalize: Truth = False,
    dropout_transition: Number = 2.0,
    align_to_video: Text = "trim",
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """The video with more audio mixed into its own. `mix_duration`: longest, first, shortest. `align_to_video`: trim, pad, none."""

def reverse(self: Any, /, audio: Text = "drop", *, video_encoder: Text = None, video_encoder_args: Any = None) -> Video:
    """The frames from the last to the first. `audio`: drop, reverse (at most ten minutes), or keep as it is."""

def segment_video(
    self: Any,
    /,
    *,
    duration: Number = None,
    segment_times: Any = None,
    mode: Text = "accurate",
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Json:
    """In a function marked @udf: the parts of a video, a list of `{"segment_start", "segment_end", "video_segment"}` with paths."""

def scene_detect_content(
    self: Any,
    /,
    *,
    fps: Number = None,
    threshold: Number = 27.0,
    min_scene_len: Whole = 15,
    delta_hue: Number = 1.0,
    delta_sat: Number = 1.0,
    delta_lum: Number = 1.0,
    delta_edges: Number = 0.0,
    luma_only: Truth = False,
    kernel_size: Whole = None,
    filter_mode: Text = "merge",
) -> Json:
    """Scenes by the mean change of hue, saturation, brightness and edges. `filter_mode` for quick cuts: merge or suppress."""

def scene_detect_adaptive(
    self: Any,
    /,
    *,
    fps: Number = None,
    adaptive_threshold: Number = 3.0,
    min_scene_len: Whole = 15,
    window_width: Whole = 2,
    min_content_val: Number = 15.0,
    delta_hue: Number = 1.0,
    delta_sat: Number = 1.0,
    delta_lum: Number = 1.0,
    delta_edges: Number = 0.0,
    luma_only: Truth = False,
    kernel_size: Whole = None,
) -> Json:
    """Scenes where the change is several times that of the frames around it, which copes with quick motion."""

def scene_detect_threshold(
    self: Any,
    /,
    *,
    fps: Number = None,
    threshold: Number = 12.0,
    min_scene_len: Whole = 15,
    fade_bias: Number = 0.0,
    add_final_scene: Truth = False,
    method: Text = "floor",
) -> Json:
    """Scenes by fades: the mean brightness (0 to 255) falls below a threshold, or rises above it ('ceiling')."""

def scene_detect_histogram(
    self: Any,
    /,
    *,
    fps: Number = None,
    threshold: Number = 0.05,
    bins: Whole = 256,
    min_scene_len: Whole = 15,
) -> Json:
    """Scenes where the histograms of brightness of two frames correlate less than 1 - `threshold`."""

def scene_detect_hash(
    self: Any,
    /,
    *,
    fps: Number = None,
    threshold: Number = 0.395,
    size: Whole = 16,
    lowpass: Whole = 2,
    min_scene_len: Whole = 15,
) -> Json:
    """Scenes where the perceptual hashes of two frames differ in more than a part of their bits."""

def make_video(order_key: Any, /, frame: Any, *, fps: Whole = 25) -> Video:
    """A video of images of one size, with `fps` of them in a second."""

def concat_videos_agg(
    order_key: Any,
    /,
    video: Any,
    *,
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Video:
    """The videos one after the other, in the size of the first."""

def frame_iterator(video: Any, *, fps: Number = None, num_frames: Whole = None, keyframes_only: Truth = False) -> Any:
    """The frames of a video: `frame`, which is read from the video when it is needed, and `frame_attrs`.

    `fps` takes the frame nearest to each multiple of 1/fps seconds, all if the video has fewer in a second; `num_frames`
    the frames in the middle of as many equal parts. `frame_attrs` is `{"index", "pts", "dts", "time", "is_corrupt",
    "key_frame", "pict_type", "interlaced_frame"}`; times in seconds begin at 0.
    """

def video_splitter(
    video: Any,
    *,
    duration: Number = None,
    overlap: Number = None,
    min_segment_duration: Number = None,
    segment_times: Any = None,
    mode: Text = "accurate",
    video_encoder: Text = None,
    video_encoder_args: Any = None,
) -> Any:
    """Parts of a video as files: of `duration` seconds, or cut at `segment_times`.

    Each part of a duration begins `overlap` seconds before the end of the last. A last part shorter than
    `min_segment_duration` is left out. Mode `accurate` encodes, `fast` copies from key frame to key frame: cuts move to
    the key frame before them. Outputs are `segment_start` and `segment_end` in seconds, both also in units of the
    video's time (`_pts`), and `video_segment`.
    """
