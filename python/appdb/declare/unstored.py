"""Columns with `stored=False`: their expression stands wherever they are read. Raises AppFileError."""

from appdb.declare.errors import AppFileError
from appdb.expressions.expr import ColumnRef

_STORE = "Leave stored=False out: the value is then stored with its row."


class UnstoredRef(ColumnRef):
    """Such a column as its body, queries and routes name it: its expression, with the column's name."""

    __slots__ = ()

    def __init__(self, owner, name, expr):
        for attribute in ("_kind", "_nullable", "_node", "_text", "_binds", "_reads", "_functions", "_depth", "_base"):
            setattr(self, attribute, getattr(expr, attribute))
        self._name = name
        self._owner = owner
        self._computed = False

    def similarity(self, *value, idx=None, **given):
        """Raises AppFileError: an index needs stored values."""
        raise AppFileError(f"Column '{self._name}' is not stored and has no embedding index.", _STORE)


def unstored_column(owner, name, expr, options):
    """The reference of a column that is computed when it is read."""
    for option, refused, why in (
        ("primary_key", options.primary_key, "a key is stored"),
        ("destination", options.destination is not None, "its files are not kept"),
        ("renamed_from", options.renamed_from is not None, "it has no values to keep"),
    ):
        if refused:
            raise AppFileError(f"Column '{name}' has stored=False and {option}=: {why}.", f"Leave {option}= out.")
    if _asks(expr._node):
        raise AppFileError(f"Column '{name}' has stored=False and asks a query.", _STORE)
    return UnstoredRef(owner, name, expr)


def refuse_unstored(column, what, source=None):
    """Refuses such a column where only stored values can be used."""
    if column.is_stored:
        return
    error = (f"Column '{column.name}' is not stored and cannot be {what}.", _STORE)
    raise AppFileError(*error) if source is None else AppFileError(*error, source)


def _asks(node):
    """True when a node contains a query."""
    if isinstance(node, dict):
        return node.get("node") == "query" or any(map(_asks, node.values()))
    return isinstance(node, list) and any(map(_asks, node))
