"""Functions of documents, each also a method: `paper.extract_text()`.

A document is the path of a file: PDF, HTML, Markdown, plain text, CSV, XML, DOCX, PPTX or XLSX. Its content decides
what it is, and its name only between kinds of text.
"""

from __future__ import annotations

from appdb.functions._builtin import Namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Document
    from typing import Any as Json

_document = Namespace("document", needs=("pypdfium2",), iterators=("document_splitter",))
function, FUNCTIONS = _document.function, _document.functions
__getattr__ = _document.unknown

# For the examples: a format, then what a file of it has.
_NOTHING = {"author": None, "subject": None, "keywords": None, "created": None, "modified": None}


@function(
    [
        ("text one|two", "one\n\ntwo\n"),
        ("markdown # A|b *c*", "# A\n\nb *c*\n"),
        ("html one|two", "one\n\ntwo"),
        ("pdf one|two", "one\n\ntwo"),
        ("docx one|two", "one\n\ntwo"),
        ("pptx one|two", "one\n\ntwo"),
        ("xlsx one|two", "Sheet\n\none\ntwo"),
    ]
    + [("broken pdf", ValueError), ("broken docx", ValueError), ("broken", ValueError)]
)
def extract_text(self: Document, /) -> str:
    """The text: empty lines between paragraphs, tabs between cells. Text, Markdown and CSV stay as they are."""
    from appdb.media.documents.reading import text_of

    return text_of(self)


@function(
    [
        ("markdown # A", {"size": 3, "format": "markdown", "title": "A", **_NOTHING, "pages": None}),
        ("pdf a|b", {"size": 839, "format": "pdf", "title": "Sample", **_NOTHING, "pages": 2}),
        ("broken docx", ValueError),
    ]
)
def get_metadata(self: Document, /) -> Json:
    """`{"size", "format", "title", "author", "subject", "keywords", "created", "modified", "pages"}`; null for unknown ones."""
    from appdb.media.documents.reading import facts_of

    return facts_of(self)
