"""The types of the columns of a CSV file, by the texts of its first rows."""

import re
from datetime import date, datetime

from appdb.values import INT_MAX, INT_MIN

_INT = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,18})")
_FLOAT = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_BOOL = re.compile(r"true|false", re.IGNORECASE)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)


def kinds_of(rows):
    """The kind of each column: the narrowest that all texts have. A column without texts is a string."""
    kinds = {}
    for row in rows:
        for name, text in row.items():
            if text is None:
                kinds.setdefault(name, None)
                continue
            kind, before = _kind(text), kinds.get(name)
            kinds[name] = kind if before is None else _joined(before, kind)
    return {name: kind or "string" for name, kind in kinds.items()}


def _joined(one, other):
    if one == other:
        return one
    return "float" if {one, other} == {"int", "float"} else "string"


def _kind(text):
    if _INT.fullmatch(text):
        return "int" if INT_MIN <= int(text) <= INT_MAX else "string"
    # A long number would lose digits.
    if _FLOAT.fullmatch(text) and not text.lstrip("+-").isdigit() and float(text) - float(text) == 0:
        return "float"
    if _BOOL.fullmatch(text):
        return "bool"
    if _DATE.fullmatch(text) and _is_read(date.fromisoformat, text):
        return "date"
    if _TIMESTAMP.fullmatch(text) and _is_read(datetime.fromisoformat, text[:10] + "T" + text[11:16]):
        return "timestamp"
    return "string"


def _is_read(read, text):
    try:
        read(text)
    except ValueError:
        return False
    return True
