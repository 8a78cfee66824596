"""Declarations in a model's body besides annotations and expressions: columns with options, and indexes."""

import sys

from appdb.declare.constants import literal_value
from appdb.declare.errors import AppFileError, did_you_mean
from appdb.declare.names import check_column_name


class Column:
    """A column with options: `id = Column(value=uuid7(), primary_key=True)`."""

    def __init__(
        self,
        type=None,
        value=None,
        primary_key=None,
        stored=None,
        media_validation=None,
        destination=None,
        custom_metadata=None,
        comment=None,
        renamed_from=None,
        default=None,
        **unknown,
    ):
        if unknown:
            known = "type value default primary_key stored media_validation destination custom_metadata comment".split()
            known.append("renamed_from")
            name = next(iter(unknown))
            hint = did_you_mean(name, known, f"Its options are {', '.join(known)}.")
            if name == "nullable":
                hint = "Write type=db.String | None for a column that may be null; without it a column never is."
            raise AppFileError(f"Column has no option '{name}'.", hint)
        if (type is None) == (value is None):
            raise AppFileError(
                "A Column has either type= or value=.",
                "Write for example Column(type=db.String, primary_key=True); the type is an argument.",
            )
        if default is not None and type is None:
            raise AppFileError(
                "A computed column has no default: every row has the value of its expression.",
                "Write Column(type=..., default=...), or leave default= out.",
            )
        if stored is False and type is not None:
            raise AppFileError(
                "A column that requests fill is stored: stored=False is for computed columns.",
                "Leave stored= out, or write Column(value=..., stored=False).",
            )
        check_validation(media_validation)
        self.media_validation = media_validation
        self.destination = None if destination is None else _checked_destination(destination)
        for option, setting in (("primary_key", primary_key), ("stored", stored)):
            if setting not in (None, True, False):
                raise AppFileError(
                    f"{option}= is True or False, not {setting!r}.", f"Write {option}=True or leave it out."
                )
        check_comment(comment)
        check_metadata(custom_metadata)
        self.type = type
        self.value = value
        self.default = default
        self.primary_key = bool(primary_key)
        self.is_stored = stored is not False
        self.custom_metadata = custom_metadata
        self.comment = comment
        self.renamed_from = None if renamed_from is None else check_column_name(renamed_from)


class Declared:
    """A declared column."""

    __slots__ = (
        *("name", "ref", "value", "default", "primary_key", "is_stored", "comment", "custom_metadata"),
        *("renamed_from", "source"),
    )

    def __init__(self, name, ref, value, options, source, default=None):
        self.name = name
        self.ref = ref
        self.value = value  # The Expr of a computed column, else None.
        self.default = default  # The Expr of a stored column's default, else None.
        self.primary_key = options.primary_key if options else False
        self.is_stored = options.is_stored if options else True  # False: computed when it is read.
        self.comment = options.comment if options else None
        self.custom_metadata = options.custom_metadata if options else None
        self.renamed_from = options.renamed_from if options else None
        if self.renamed_from == name:
            raise AppFileError(f"renamed_from= names '{name}', which is the column's own name.", "Take it out.", source)
        self.source = source


def _checked_destination(destination):
    from appdb.declare.destinations import checked_destination

    return checked_destination(destination)


def check_validation(validation):
    """Raises AppFileError unless media_validation= is 'on_write', 'on_read' or left out."""
    if validation not in (None, "on_write", "on_read"):
        raise AppFileError(
            f"media_validation= is 'on_write' or 'on_read', not {validation!r}.",
            'Write media_validation="on_read", or leave it out: files are checked when they are written.',
        )


def caller(depth):
    """(file, line) of the caller's caller, `depth` frames up."""
    frame = sys._getframe(depth + 1)
    return frame.f_code.co_filename, frame.f_lineno


def check_comment(comment):
    """Raises AppFileError when a comment is not a text that can be stored."""
    if comment is None:
        return
    if not isinstance(comment, str):
        raise AppFileError(f"comment= is text, not {type(comment).__name__}.", "Write it in quotes.")
    literal_value(comment)


def check_metadata(metadata):
    """Raises AppFileError when custom metadata is not JSON."""
    if metadata is None:
        return
    from appdb.values import to_json

    try:
        to_json(metadata)
    except (TypeError, ValueError) as error:
        raise AppFileError(f"custom_metadata= is not JSON: {error}.", "Use dict, list, text, numbers.") from None
