"""Rules for names: those of PostgreSQL and Python, and names reserved by the engine."""

from appdb.declare.errors import AppFileError

MAX_BYTES = 63  # PostgreSQL truncates longer identifiers silently.

# Columns that every PostgreSQL table has.
SYSTEM_COLUMNS = frozenset(("ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"))

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_PLAIN = _LETTERS | frozenset("0123456789_")
_HYPHENS = _PLAIN | frozenset("-")


def check_column_name(name):
    """Returns the column's stored name (lower case). Raises AppFileError for an invalid one."""
    folded = _checked("column", name, _PLAIN)
    if folded in SYSTEM_COLUMNS:
        raise AppFileError(f"'{name}' cannot be a column's name: PostgreSQL reserves it.", f"Call it '{name}_'.")
    import keyword

    if keyword.iskeyword(name) or keyword.iskeyword(folded):
        raise AppFileError(f"'{name}' is a keyword of Python and cannot be a column's name.", f"Call it '{name}_'.")
    return folded


def check_table_name(name):
    """Returns the table's stored name (lower case)."""
    return _checked("table", name, _HYPHENS)


def check_service_name(name):
    """Returns the service's name in addresses (lower case)."""
    return _checked("service", name, _HYPHENS)


def check_index_name(name):
    """Returns the index's stored name (lower case)."""
    return _checked("index", name, _HYPHENS)


def _checked(what, name, allowed):
    if not isinstance(name, str):
        raise AppFileError(f"The name of a {what} is text, not {type(name).__name__}.", "Write it in quotes.")
    if name == "":
        raise AppFileError(f"The name of a {what} is empty.", "Give it a name that begins with a letter.")
    shown = name if len(name) <= 80 else name[:77] + "..."
    size = len(name.encode("utf-8", "replace"))
    if size > MAX_BYTES:
        raise AppFileError(
            f"The {what} name '{shown}' has {size} bytes; PostgreSQL keeps {MAX_BYTES}.",
            f"Shorten it to at most {MAX_BYTES} letters.",
        )
    folded = name.lower()
    if name.startswith("_"):
        raise AppFileError(
            f"The {what} name '{shown}' begins with an underscore; such names belong to the engine.",
            "Begin it with a letter.",
        )
    if not name.isascii() or folded[0] not in _LETTERS or not allowed.issuperset(folded):
        marks = "letters, digits, '_' and '-'" if "-" in allowed else "letters, digits and '_'"
        raise AppFileError(f"'{shown}' cannot be a {what} name.", f"Begin with a letter a-z and use {marks} only.")
    return folded
