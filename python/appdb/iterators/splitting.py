"""The arguments of `document_splitter` and `string_splitter`: their check, and the outputs and packages that they imply."""

from appdb.declare.types import Kind
from appdb.iterators.arguments import BadArgument, check_choice, check_number, words
from appdb.iterators.calls import Output

SEPARATORS = ("heading", "paragraph", "sentence", "token_limit", "char_limit", "page")
TEXT_SEPARATORS = ("paragraph", "sentence", "token_limit", "char_limit")
METADATA = ("title", "heading", "sourceline", "page", "bounding_box")
ELEMENTS = ("text", "image")
IMAGE_FORMATS = ("png", "jpeg", "webp")
MAX_DPI = 1_200
_LIMITS = ("token_limit", "char_limit")
_HEADING_LEVELS = {f"h{level}": {"type": "string"} for level in range(1, 7)}
_BOX = {corner: {"type": "number"} for corner in ("x1", "y1", "x2", "y2")}


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
    if tags is not None and not (type(tags) is list and all(map(_is_tag, tags))):
        raise BadArgument(
            f"{name}() takes skip_tags as a list of names of HTML elements, not {repr(tags)[:80]}.",
            "Write for example skip_tags=['nav', 'footer'].",
        )


def _is_tag(name):
    return type(name) is str and name[:1].isalpha() and name.isascii() and name.replace("-", "").isalnum()


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
