"""Audio: sounds, by the path of a file."""

from appdb.kinds._base import ColumnType
from appdb.kinds._media import local_path, media_rules, path_encoder, stream_check


class Audio(ColumnType):
    kind = "audio"
    needs = ("av",)


RULES = media_rules(
    python="the path of an audio file (str)",
    hints=(),
    encoder=lambda type: path_encoder("an audio file"),
    decoder=lambda type: local_path,
    check=stream_check("audio", "audio stream"),
)
