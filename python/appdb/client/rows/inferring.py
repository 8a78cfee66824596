"""Columns of a new table from the rows that fill it."""

import json
import os
import re
from itertools import chain, islice

from appdb.client.cells import File
from appdb.client.rows.csv_types import kinds_of
from appdb.client.rows.exact_numbers import JsonNumber
from appdb.client.rows.row_names import folded
from appdb.client.rows.sources import Source, source_of
from appdb.declare.errors import AppFileError, Error
from appdb.declare.names import check_column_name
from appdb.expressions.expr import with_article
from appdb.kinds import DISPLAY, rules
from appdb.kinds._base import parametrised

#: Rows that are looked at.
_LOOKED_AT = 1_000
_NUMBERS = {("int", "float"), ("float", "int")}


def inferred(source, keys=(), names=None):
    """The schema for a source, and the rows to insert. Columns other than keys may be null, because later rows are not known.

    `names`: {name in the source: column}."""
    refs = {}
    given = source_of(source, refs, names)
    # A source reads its rows by the columns, so that texts that are marked as JSON are decoded.
    refs.update({name: _Ref(type["kind"]) for name, type in given.types.items()})
    first = list(islice(given.rows, _LOOKED_AT))
    if not first:
        raise Error("The source has no row, which would show the columns.", "Write schema={...}.")
    kinds = kinds_of(first) if given.reopened is not None else _kinds(first, given)
    _check_names(kinds, source)
    keys = {folded(key) for key in keys}
    marked = {**{name: given.null_types.get(name) for name, kind in kinds.items() if kind is None}, **given.types}
    kinds = {name: kind or marked[name]["kind"] for name, kind in kinds.items()}
    schema = {name: _type(kind, name in keys, marked.get(name)) for name, kind in kinds.items()}
    if given.reopened is not None:
        given.rows.close()
        return schema, given.reopened(_refs(kinds), _hint_for)
    rows = Source(chain(first, given.rows), given.total, given.is_frame, place=given.place)
    # A source that ended has no row that could show more.
    rows.hint = None if len(first) < _LOOKED_AT else f"The first {_LOOKED_AT:,} rows gave the columns. Write them: schema={{...}}"
    return schema, rows


def _hint_for(name):
    return (
        f"The first {_LOOKED_AT:,} rows gave the type. Correct the line, or create the table with a schema that takes all:"
        f' schema={{"{name}": db.String | None, ...}}'
    )


def _refs(kinds):
    return {name: _Ref(kind) for name, kind in kinds.items()}


class _Ref:
    """What a reader of texts asks of a column."""

    _nullable = True

    def __init__(self, kind):
        self._kind = kind


def _check_names(names, source):
    for name in names:
        try:
            check_column_name(name)
        except AppFileError as error:
            of = f" of {source}" if isinstance(source, (str, os.PathLike)) else ""
            raise Error(
                f"The column {name!r}{of} needs another name. {error.detail}",
                f"Choose the columns and name them: columns={{{json.dumps(name, ensure_ascii=False)}: \"{_plain(name)}\", ...}}",
                error.code,
            ) from None


def _plain(name):
    """A name of letters, digits and underscores that looks like the given one."""
    import unicodedata

    from keyword import iskeyword

    text = unicodedata.normalize("NFKD", str(name)).encode("ascii", "ignore").decode().lower()
    made = re.sub(r"[^a-z0-9]+", "_", text).strip("_")
    return made if made[:1].isalpha() and not iskeyword(made) else f"column_{made}".strip("_")


def _kinds(first, given):
    """The kinds of columns: those that the source is marked with, otherwise those of the values."""
    kinds = {}
    for number, row in enumerate(first, 1):
        for name, value in dict.items(row):
            marked = given.types.get(name)
            kinds[name] = _joined(name, number, kinds.get(name), value, given.is_frame) if marked is None else marked["kind"]
    unknown = [name for name, kind in kinds.items() if kind is None and name not in given.null_types]
    if unknown:
        raise Error(
            f"The column '{unknown[0]}' is null in the first {len(first)} rows, so its type is unknown.",
            f'Write schema={{"{unknown[0]}": db.String | None, ...}}.',
        )
    return kinds


def _joined(name, number, before, value, is_frame):
    kind = _kind(value, is_frame)
    if kind == "":
        raise Error(
            f"The column '{name}' has a {type(value).__name__} in row {number}, which does not show a type.",
            f'Write schema={{"{name}": db.Float | None, ...}} for numbers, db.String for texts, or convert the values.',
        )
    if kind is None or kind == before:
        return before
    if before is None:
        return kind
    if (before, kind) in _NUMBERS:
        return "float"
    raise Error(
        f"The column '{name}' has {with_article(DISPLAY[kind])} in row {number}, and {with_article(DISPLAY[before])} before.",
        f'Write schema={{"{name}": db.Json | None, ...}}, or convert the values.',
    )


def _kind(value, is_frame):
    """The kind of a value: None for null, an empty text if it shows none."""
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return None
    if is_frame and type(value) is float and value != value:
        return None
    if isinstance(value, (dict, list, tuple)) or hasattr(value, "tolist") and getattr(value, "ndim", 0):
        return "json"
    if type(value) is JsonNumber:
        return "float"
    if isinstance(value, File):
        return value.kind
    if hasattr(value, "item"):
        value = value.item()
    for plain, kind in ((bool, "bool"), (int, "int"), (float, "float"), (str, "string"), (bytes, "binary")):
        if isinstance(value, plain):
            return kind
    for made in type(value).__mro__:
        named = (made.__module__, made.__qualname__)
        found = next((kind for kind in DISPLAY if named in rules(kind).hints), None)
        if found is not None:
            return found
    return ""


def _type(kind, is_key, marked=None):
    import appdb

    named = getattr(appdb, DISPLAY[kind])
    if marked is not None and len(marked) > 1:
        named = parametrised(named, marked)
    return named if is_key else named | None
