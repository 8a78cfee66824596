"""Documents of all formats: their elements, text and facts. Each file is read once, from its start to its end."""

import os
import zipfile
import zlib
from contextlib import contextmanager
from xml.parsers.expat import ExpatError

from appdb._imports import load
from appdb.media.documents.formats import format_of

# Characters of a text that is one value.
MAX_TEXT = 64_000_000
_FACTS = ("title", "author", "subject", "keywords", "created", "modified", "pages")
_OFFICE = ("docx", "pptx", "xlsx")
_OFFICE_FACTS = {
    "title": "title",
    "author": "creator",
    "subject": "subject",
    "keywords": "keywords",
    "created": "created",
    "modified": "modified",
}
# Programs add a few bytes behind the end of a PDF.
_END_BYTES = 65_536
_UNREAD = {
    "ole": "the file is an Office document with a password, or of before 2007; save it as DOCX, PPTX or XLSX",
    "rtf": "the file is RTF, whose text is not read; save it as DOCX or PDF",
}


def elements(path, skip_tags=(), has_places=False):
    """Yields the parts of a document in order, in memory that does not grow with the file.

    `skip_tags`: elements of HTML that are left out. `has_places`: parts have their line of HTML, or box of a PDF. Raises ValueError for a file that is broken, encrypted or no document, also after some elements.
    """
    with _clear_errors():
        format = _readable(path)
        if format == "html":
            yield from _module(format).elements(path, skip_tags, has_places)
        elif format == "pdf":
            yield from _module(format).elements(path, has_places)
        else:
            yield from _reader(format)(path)


def format_of_document(path):
    """The format of a document that can be read. Raises ValueError for others."""
    with _clear_errors():
        return _readable(path)


def text_of(path):
    """The text of a document: paragraphs separated by an empty line, rows of a table by the end of a line.

    Plain text, Markdown and CSV stay as they are.
    """
    with _clear_errors():
        format = _readable(path)
        if format in ("text", "markdown", "csv"):
            from appdb.media.documents.texts import whole

            return whole(path, MAX_TEXT)
    pieces, length, was_row = [], 0, False
    for element in elements(path):
        if pieces:
            pieces.append("\n" if was_row and element.is_row else "\n\n")
        pieces.append(element.text)
        was_row = element.is_row
        length += len(element.text) + 2
        if length > MAX_TEXT:
            raise ValueError(f"the text of the document has more than {MAX_TEXT:,} characters")
    return "".join(pieces)


def facts_of(path):
    """Format, size, title and so on; None for what the file does not say."""
    with _clear_errors():
        format = format_of(path)
        known = {} if format in _UNREAD else _facts(path, format)
    found = {name: _clean(known.get(name)) for name in _FACTS}
    return {"size": os.path.getsize(path), "format": format, **found}


def check(path):
    """Raises ValueError for a file that cannot be opened as what it is. Needs no package.

    Text is read to its end. Of office files, the list of parts and the beginning of the main part are read, and of PDF
    the end, which a file that was cut off does not have.
    """
    with _clear_errors():
        format = format_of(path)
        if format in ("text", "markdown", "csv"):
            from appdb.media.documents.texts import check as check_text

            check_text(path)
        elif format == "pdf":
            _check_end(path)
        elif format not in _UNREAD:
            next(_reader(format)(path), None)


def _facts(path, format):
    if format == "markdown":
        from appdb.media.documents.texts import title_of

        return {"title": title_of(path)}
    if format in _OFFICE:
        from appdb.media.documents.office import OfficeFile

        with OfficeFile(path) as office:
            said = office.properties()
        return {**{name: said.get(theirs) for name, theirs in _OFFICE_FACTS.items()}, **_module(format).facts(path)}
    return {} if format in ("text", "csv", "xml") else _module(format).facts(path)


def _readable(path):
    format = format_of(path)
    if format in _UNREAD:
        raise ValueError(_UNREAD[format])
    return format


def _reader(format):
    from appdb.media.documents import texts

    found = {"text": texts.paragraphs, "csv": texts.rows, "markdown": texts.markdown, "xml": texts.xml}.get(format)
    return found or _module(format).elements


def _module(format):
    return load(f"appdb.media.documents.{format}")


def _check_end(path):
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - _END_BYTES))
        if b"%%EOF" not in file.read():
            raise ValueError("the PDF is broken or cut off: it has no end")


def _clean(fact):
    """None for an empty text; without characters that a String cannot hold."""
    return (fact.replace("\0", "").strip() or None) if isinstance(fact, str) else fact


@contextmanager
def _clear_errors():
    """Errors of the parsers become a ValueError with what is wrong with the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ValueError(f"the text is not {error.encoding.upper()}: wrong byte at {error.start}") from None
    except ExpatError as error:
        raise ValueError(f"the XML of the document is broken: {error}") from None
    except LookupError as error:
        if type(error) is not LookupError:  # Of an index or a key: a mistake of ours.
            raise
        raise ValueError(f"the document is broken: {error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ValueError(f"the document is broken: {error}") from None
