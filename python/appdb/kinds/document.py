"""Document: PDF, HTML, Markdown, text and office files, by path."""

from appdb.kinds._base import ColumnType
from appdb.kinds._media import local_path, media_rules, path_encoder, unchecked


class Document(ColumnType):
    kind = "document"


RULES = media_rules(
    python="the path of a document (str)",
    hints=(),
    encoder=lambda type: path_encoder("a document"),
    decoder=lambda type: local_path,
    check=unchecked,
)
