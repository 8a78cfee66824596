"""The format of a document: its content decides, and its name only between kinds of text."""

import os

from appdb.media.documents.office import OfficeFile

_HEAD = 4_096
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BY_NAME = {
    **dict.fromkeys(("html", "htm"), "html"),
    **dict.fromkeys(("md", "markdown"), "markdown"),
    "xml": "xml",
    "csv": "csv",
}
_HTML = ("<!doctype html", "<html", "<head", "<body")


def format_of(path):
    """Returns `pdf`, `docx`, `pptx`, `xlsx`, `html`, `xml`, `markdown`, `csv` or `text`.

    `ole` and `rtf` are files that no function reads. Raises ValueError for other files.
    """
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise ValueError("the document is empty")
    if head.startswith(b"%PDF-"):
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        with OfficeFile(path) as office:
            return office.format
    if head.startswith(_OLE):
        return "ole"
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _kind_of_text(head.decode("utf-16", "replace"), path)
    if b"\0" in head:
        raise ValueError("the file is not a document of a known format")
    return _kind_of_text(head.decode("utf-8", "replace"), path)


def _kind_of_text(head, path):
    start = head.lstrip("\ufeff").lstrip()[:200].lower()
    if start.startswith(_HTML):
        return "html"
    named = _BY_NAME.get(os.path.splitext(getattr(path, "name", path))[1][1:].lower())
    if start.startswith("<?xml"):
        return "html" if named == "html" else "xml"
    return named or "text"
