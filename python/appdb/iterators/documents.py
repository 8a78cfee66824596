"""What `document_splitter` and `string_splitter` compute: the parts of a text, their chunks and metadata."""

import re

from appdb.iterators.arguments import words
from appdb.iterators.chunks import CharLimit, Piece, TokenLimit, limited_chunks, token_encoding, whole_chunks
from appdb.iterators.sentences import split_sentences
from appdb.iterators.splitting import METADATA, SEPARATORS, TEXT_SEPARATORS, check_document, check_string, elements_of

_WITH_HEADINGS = ("html", "markdown", "docx", "pptx", "xlsx")
_MAX_HEADING = 10_000
_EMPTY_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_models = {}


def string_rows(text, values):
    """The rows of string_splitter."""
    check_string(values, ())
    separators = words("string_splitter", "separator", values["separators"], TEXT_SEPARATORS)
    parts = _EMPTY_LINES.split(text) if "paragraph" in separators else [text]
    split = _sentence_splitter(values) if "sentence" in separators else None
    pieces = (
        Piece(one, True, "", None) for part in parts for one in (split(part) if split is not None else [part])
    )
    for chunk, _ in _chunks(pieces, separators, values):
        if chunk.strip():
            yield {"text": chunk.strip()}


def document_rows(path, values):
    """The rows of document_splitter."""
    from appdb.media.documents import reading

    check_document(values, ())
    separators = words("document_splitter", "separator", values["separators"], SEPARATORS)
    asked = words("document_splitter", "metadata", values["metadata"], METADATA)
    elements = elements_of(values)
    format = reading.format_of_document(path)
    title = reading.facts_of(path)["title"] if "title" in asked else None
    if "image" in elements and format == "pdf":
        from appdb.media.documents.pdf import rendered

        for element, image in rendered(path, values["image_dpi"]):
            made = {"text": element.text, "image": _saved(image, values["image_format"])}
            made |= _metadata(asked, title, _Start(element, {}), format)
            yield {name: value for name, value in made.items() if name in (*elements, *asked)}
        return
    skipped = ["nav"] if values["skip_tags"] is None else [tag.lower() for tag in values["skip_tags"]]
    found = reading.elements(path, skipped, has_places="sourceline" in asked or "bounding_box" in asked)
    if format == "pdf" and "paragraph" in separators:
        found = _paragraphs(found)
    pieces = _pieces(found, separators, _sentence_splitter(values) if "sentence" in separators else None)
    for chunk, start in _chunks(pieces, separators, values):
        text = chunk.strip()
        if text:
            made = {"text": text, "image": None, **_metadata(asked, title, start, format)}
            yield {name: value for name, value in made.items() if name in (*elements, *asked)}


def _paragraphs(pages):
    """The text of PDF pages between empty lines."""
    from appdb.media.documents.elements import Element

    for page in pages:
        for text in _EMPTY_LINES.split(page.text):
            part = Element(text, page.page)
            part.box = page.box
            yield part


class _Start:
    """What the metadata of a chunk are taken from: where it begins, and the headings above."""

    __slots__ = ("page", "line", "box", "headings")

    def __init__(self, element, headings):
        self.page = None if element.page is None else element.page - 1
        self.line, self.box = element.line, element.box
        self.headings = headings


def _pieces(elements, separators, split):
    headings, page, was_row = {}, None, False
    for element in elements:
        if element.level is not None:
            above = {name: text for name, text in headings.items() if name < f"h{element.level}"}
            headings = {**above, f"h{element.level}": element.text[:_MAX_HEADING]}
        begins = (
            "paragraph" in separators
            or ("heading" in separators and element.level is not None)
            or ("page" in separators and element.page != page)
        )
        page, start = element.page, _Start(element, headings)
        if split is None:
            yield Piece(element.text, begins, "\n" if was_row and element.is_row else "\n\n", start)
        else:
            for sentence in split(element.text):
                yield Piece(sentence, True, "", start)
        was_row = element.is_row


def _chunks(pieces, separators, values):
    overlap = values["overlap"] or 0
    if "char_limit" in separators:
        return limited_chunks(pieces, CharLimit(values["limit"], overlap))
    if "token_limit" in separators:
        encoding = token_encoding(values["tiktoken_encoding"] or "cl100k_base", values["tiktoken_target_model"])
        return limited_chunks(pieces, TokenLimit(values["limit"], overlap, encoding))
    return whole_chunks(pieces)


def _sentence_splitter(values):
    """The function from a text to its sentences: a model of spaCy that is given, if spaCy is installed; else our rules."""
    model = values["spacy_model"]
    if model is None:
        return split_sentences
    if model not in _models:
        _models[model] = _spacy_splitter(model)
    return _models[model]


def _spacy_splitter(model):
    try:
        import spacy
    except ModuleNotFoundError as error:
        if error.name != "spacy":
            raise
        return split_sentences
    try:
        language = spacy.load(model)
    except OSError as error:
        detail = f"spaCy has no model {model!r} here; add its package to requirements.txt, or omit spacy_model="
        raise ValueError(detail) from error

    def split(text):
        for at in range(0, len(text), language.max_length):
            for sentence in language(text[at : at + language.max_length]).sents:
                yield sentence.text.strip()

    return split


def _metadata(asked, title, start, format):
    known = {
        "title": title,
        "heading": start.headings if format in _WITH_HEADINGS else None,
        "sourceline": start.line,
        "page": start.page if format == "pdf" else None,
        "bounding_box": start.box,
    }
    return {name: known[name] for name in asked}


def _saved(image, format):
    """The path of a new file of an image."""
    from appdb.kinds._media import scratch_file

    path = scratch_file(f".{format}")
    image.save(path, format)
    return path
