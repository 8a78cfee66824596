"""Video: films, by the path of a file."""

from appdb.kinds._base import ColumnType
from appdb.kinds._media import local_path, media_rules, path_encoder, stream_check


class Video(ColumnType):
    kind = "video"
    needs = ("av",)


RULES = media_rules(
    python="the path of a video (str)",
    hints=(),
    encoder=lambda type: path_encoder("a video"),
    decoder=lambda type: local_path,
    check=stream_check("video", "video stream"),
)
