"""The namespace of functions of video, which three modules declare."""

from appdb.functions._builtin import Namespace

# Options of encoders and filters can name files of the worker, so rows must not choose them.
VIDEO = Namespace(
    "video",
    needs=("av",),
    constants=("vf", "af", "video_encoder", "video_encoder_args"),
    aggregates=("make_video", "concat_videos_agg"),
    iterators=("frame_iterator", "video_splitter"),
)
