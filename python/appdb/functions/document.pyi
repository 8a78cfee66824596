# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions of documents, each also a method: `paper.extract_text()`."""

from typing import Any

from appdb import Expr, Json, String

Text = Expr | str | None
Whole = Expr | int | None

FUNCTIONS: dict[str, Any]

def extract_text(self: Any, /) -> String:
    """The text: empty lines between paragraphs, tabs between cells. Text, Markdown and CSV stay as they are."""

def get_metadata(self: Any, /) -> Json:
    """`{"size", "format", "title", "author", "subject", "keywords", "created", "modified", "pages"}`; null for unknown ones."""

def document_splitter(
    document: Any,
    separators: Text,
    *,
    elements: Any = None,
    limit: Whole = None,
    overlap: Whole = None,
    metadata: Text = "",
    skip_tags: Any = None,
    spacy_model: Text = None,
    tiktoken_encoding: Text = "cl100k_base",
    tiktoken_target_model: Text = None,
    image_dpi: Whole = 300,
    image_format: Text = "png",
) -> Any:
    """Chunks of a document (text, CSV, XML, HTML, Markdown, PDF, DOCX, PPTX, XLSX), each a row with `text`.

    `separators` is a comma list. A chunk ends before a `heading`, at the end of a `page` (of PDF; a slide, a sheet), a
    `paragraph` (also a heading, a row of a table, and in plain text and PDF what empty lines separate) or a `sentence`.
    Sentences are found by the model of spaCy that `spacy_model` names, if spaCy is installed, and otherwise by rules for
    abbreviations, numbers, quotes and the marks of Chinese and Japanese. `char_limit` and `token_limit` cut chunks that
    have more characters, or tokens of tiktoken, than `limit`; the next chunk begins `overlap` of them earlier, at a
    word. Without separators the document is one chunk. Chunks without text are left out.

    `metadata` adds outputs, null where the format has none: `title`, `heading` (the open headings where the chunk
    begins, `{"h1": ...}`), `sourceline` (of HTML, from 1), `page` (of PDF, from 0) and `bounding_box` (around the text
    of the PDF page where the chunk begins, in points from the top left). `elements=['text', 'image']` adds the image of
    each PDF page, with `separators='page'`. `skip_tags` are elements of HTML without their content; `nav` if not given.
    """
