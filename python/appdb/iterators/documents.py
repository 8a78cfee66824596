"""What `document_splitter` and `string_splitter` compute: the parts of a text or document, its chunks, their metadata."""

import re

from appdb.declare.types import Kind
from appdb.iterators.arguments import BadArgument, check_choice, check_number, words
from appdb.iterators.calls import Output
from appdb.iterators.chunks import CharLimit, Piece, TokenLimit, limited_chunks, token_encoding, whole_chunks
from appdb.iterators.sentences import split_sentences

SEPARATORS = ("heading", "paragraph", "sentence", "token_limit", "char_limit", "page")
TEXT_SEPARATORS = ("paragraph", "sentence", "token_limit", "char_limit")
METADATA = ("title", "heading", "sourceline", "page", "bounding_box")
ELEMENTS = ("text", "image")
IMAGE_FORMATS = ("png", "jpeg", "webp")
MAX_DPI = 1_200
_LIMITS = ("token_limit", "char_limit")
_WITH_HEADINGS = ("html", "markdown", "docx", "pptx", "xlsx")
_MAX_HEADING = 10_000
_TAG = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_EMPTY_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_HEADING_LEVELS = {f"h{level}": {"type": "string"} for level in range(1, 7)}
_BOX = {corner: {"type": "number"} for corner in ("x1", "y1", "x2", "y2")}
_models = {}


def _object(properties, required):
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return Kind({"kind": "json", "schema": schema})


_KINDS = {
    "title": "string",
    "heading": _object(_HEADING_LEVELS, []),
    "sourceline": "int",
    "page": "int",
    "bounding_box": _object(_BOX, list(_BOX)),
}


def check_string(values, by_row):
    """The check of string_splitter's arguments."""
    _check_separators("string_splitter", values, by_row, TEXT_SEPARATORS)


def check_document(values, by_row):
    """The check of document_splitter's arguments."""
    name = "document_splitter"
    separators = _check_separators(name, values, by_row, SEPARATORS)
    words(name, "metadata", values["metadata"], METADATA)
    elements = elements_of(values)
    if "image" in elements and separators != ("page",):
        raise BadArgument(
            f"{name}() makes images of pages only, not with separators={values['separators']!r}.",
            "Write separators='page', or remove 'image' from elements=.",
        )
    check_number(name, "image_dpi", values["image_dpi"], 1, MAX_DPI)
    check_choice(name, "image_format", values["image_format"], IMAGE_FORMATS)
    tags = values["skip_tags"]
    if tags is not None and not (type(tags) is list and all(type(one) is str and _TAG.fullmatch(one) for one in tags)):
        raise BadArgument(
            f"{name}() takes skip_tags as a list of names of HTML elements, not {repr(tags)[:80]}.",
            "Write for example skip_tags=['nav', 'footer'].",
        )


def _check_separators(name, values, by_row, known):
    separators = words(name, "separator", values["separators"], known)
    limits = [one for one in separators if one in _LIMITS]
    if len(limits) == 2:
        raise BadArgument(f"{name}() takes 'token_limit' or 'char_limit', not both.", "Remove one of the separators.")
    if limits and values["limit"] is None and "limit" not in by_row:
        raise BadArgument(f"{name}() has the separator '{limits[0]}' and no limit=.", "Write for example limit=300.")
    for one in ("limit", "overlap"):
        if not limits and (values[one] is not None or one in by_row):
            raise BadArgument(
                f"{name}() takes {one}= only with the separator 'token_limit' or 'char_limit'.",
                f"Add one of them to the separators, or remove {one}=.",
            )
    check_number(name, "limit", values["limit"], 1)
    check_number(name, "overlap", values["overlap"], 0)
    if None not in (values["limit"], values["overlap"]) and values["overlap"] >= values["limit"]:
        raise BadArgument(
            f"{name}() takes an overlap below the limit, not {values['overlap']} with limit={values['limit']}.",
            "Make the overlap smaller, for example a tenth of the limit.",
        )
    return separators


def elements_of(values):
    """The parts of pages that are asked for: text if nothing is said."""
    given = values["elements"]
    if given is None:
        return ("text",)
    if type(given) is not list or not given or any(one not in ELEMENTS for one in given):
        raise BadArgument(
            f"document_splitter() takes elements as a list of 'text' and 'image', not {str(given)[:80]}.",
            "Write elements=['text'], ['image'] or ['text', 'image'].",
        )
    return tuple(one for one in ELEMENTS if one in given)


def outputs_of_document(values):
    """The outputs: text, image, then metadata in the order of METADATA."""
    elements = elements_of(values)
    outputs = [Output("text", "string")] if "text" in elements else []
    if "image" in elements:
        outputs.append(Output("image", "image", nullable=True))
    asked = words("document_splitter", "metadata", values["metadata"], METADATA)
    return outputs + [Output(name, _KINDS[name], nullable=True) for name in asked]


def needs_of_text(values):
    """The packages of both splitters."""
    return ("tiktoken",) if "token_limit" in values["separators"].lower() else ()


def needs_of_document(values):
    """The packages of document_splitter."""
    images = ("pillow",) if "image" in elements_of(values) else ()
    return ("pypdfium2", *images, *needs_of_text(values))


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
