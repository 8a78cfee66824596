"""Columns of a new table from the rows that fill it."""

from itertools import chain, islice

from appdb.client.sources import Source, source_of
from appdb.declare.errors import Error
from appdb.kinds import DISPLAY, rules

#: Rows that are looked at.
_LOOKED_AT = 1_000
_NUMBERS = {("int", "float"), ("float", "int")}


def inferred(source, keys=()):
    """The schema for a source, and the rows to insert. Columns other than keys may be null, because later rows are not known."""
    given = source_of(source, {})
    first = list(islice(given.rows, _LOOKED_AT))
    if not first:
        raise Error("The source has no row, which would show the columns.", "Write schema={...}.")
    kinds = {}
    for number, row in enumerate(first, 1):
        for name, value in dict.items(row):
            kinds[name] = _joined(name, number, kinds.get(name), value, given.is_frame)
    unknown = [name for name, kind in kinds.items() if kind is None]
    if unknown:
        raise Error(
            f"The column '{unknown[0]}' is null in the first {len(first)} rows, so its type is unknown.",
            f'Write schema={{"{unknown[0]}": db.String | None, ...}}.',
        )
    schema = {name: _type(kind, name in keys) for name, kind in kinds.items()}
    return schema, Source(chain(first, given.rows), given.total, given.is_frame)


def _joined(name, number, before, value, is_frame):
    kind = _kind(value, is_frame)
    if kind is None or kind == before:
        return before
    if before is None:
        return kind
    if (before, kind) in _NUMBERS:
        return "float"
    raise Error(
        f"The column '{name}' has a {DISPLAY[kind]} in row {number}, and a {DISPLAY[before]} before.",
        f'Write schema={{"{name}": db.Json | None, ...}}, or convert the values.',
    )


def _kind(value, is_frame):
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return None
    if is_frame and type(value) is float and value != value:
        return None
    if isinstance(value, (dict, list, tuple)) or hasattr(value, "tolist") and getattr(value, "ndim", 0):
        return "json"
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
    raise Error(f"A {type(value).__name__} does not show the type of its column.", "Write schema={...}.")


def _type(kind, is_key):
    import appdb

    named = getattr(appdb, DISPLAY[kind])
    return named if is_key else named | None
