"""Document: PDF, HTML, Markdown, text and office files, by path."""

from appdb.kinds._base import ColumnType
from appdb.kinds._media import Checked, media_rules, path_encoder


class Document(ColumnType):
    kind = "document"


class DocumentPath(str):
    """The path of a document, with the name that it was given: only a name tells Markdown from plain text."""

    __slots__ = ("name",)


def _located(stored):
    from json import loads
    from urllib.parse import urlsplit

    given = loads(stored.given if isinstance(stored, Checked) else stored)
    path = DocumentPath(given["path"])
    path.name = given.get("key") or given.get("name") or urlsplit(given.get("url", "")).path or given["path"]
    return path


def _check(type):
    """From a given file to itself, if it can be opened as what it is."""

    def check(stored):
        from appdb.media.documents.reading import check as check_file

        check_file(_located(stored))
        return Checked(stored, {})

    return check


RULES = media_rules(
    python="the path of a document (str)",
    hints=(),
    encoder=lambda type: path_encoder("a document"),
    decoder=lambda type: _located,
    check=_check,
)
