"""The column types, and the parsing of annotations and type hints.

Inside the library a type is its kind (`"string"`, `"int"`), with nullability next to it. The kind of a type with
parameters is a Kind: it equals the plain kind and has the manifest's type.
"""

from types import ModuleType

from appdb.declare.errors import AppFileError
from appdb.kinds import DISPLAY, rules
from appdb.kinds._base import ColumnType, Kind


def manifest_type(kind):
    """The type in the manifest."""
    return kind.type if type(kind) is Kind else {"kind": kind}


class Required:
    """`Required[String]` is String: a column is nullable only with `| None`."""

    def __class_getitem__(cls, item):
        base, nullable = _split_none(item)
        if nullable:
            raise AppFileError(
                f"Required[{_written(base)} | None] is both required and nullable.",
                f"Write {_written(base)} | None, or take '| None' out.",
            )
        return item


_UNIONS = ("UnionType", "Union", "_UnionGenericAlias")


def display(kind, nullable=False):
    """Prints a type in source form: `String`, `Int | None`."""
    text = DISPLAY[kind] if type(kind) is not Kind else rules(kind).display(kind.type)
    return f"{text} | None" if nullable else text


def column_type(annotation, name):
    """Parses a column's annotation: (kind, nullable). Raises AppFileError except for the library's types."""
    base, nullable = _split_none(annotation)
    if isinstance(base, type) and issubclass(base, ColumnType) and base is not ColumnType:
        return _complete(base, f"Column '{name}'"), nullable
    if base is Required:
        raise AppFileError(f"Column '{name}' is Required without a type.", f"Write {name}: db.Required[db.String]")
    python = python_kind(base)
    if python is not None:
        wanted = display(python, nullable)
        raise AppFileError(
            f"Column '{name}' has the Python type {_written(base)}; a column wants a type of the library.",
            f"Write {name}: db.{wanted}",
        )
    raise AppFileError(
        f"Column '{name}' has the type {_written(base)}, which is not a column type.",
        f"Use one of {', '.join(DISPLAY.values())}; add '| None' where it may be null.",
    )


def hint_type(hint, where):
    """Parses a type hint of a function: (kind, nullable). `where` is the place for messages."""
    base, nullable = _split_none(hint)
    if isinstance(base, type) and issubclass(base, ColumnType) and base is not ColumnType:
        return _complete(base, where), nullable
    if base is None:
        raise AppFileError(f"{where} is None, which is not a column type.", "Return a value, for example -> str.")
    python = python_kind(base)
    if python is not None:
        return python, nullable
    if getattr(getattr(base, "__origin__", base), "__module__", None) == "numpy":
        from appdb.declare.array_type import numpy_hint

        array = numpy_hint(base)
        if array is not None:
            return Kind(array), nullable
    if isinstance(base, ModuleType) and base.__name__ == "PIL.Image":
        raise AppFileError(
            f"{where} has the type hint {base.__name__}, which is a module.", "Write Image.Image, or db.Image"
        )
    raise AppFileError(
        f"{where} has the type hint {_written(base)}, which does not match a column type.",
        "Use str, int, float, bool, datetime, date, UUID, dict, list, or a type of the library; '| None' may follow.",
    )


def _complete(base, where):
    if base.needs:
        from appdb.declare.packages import require

        require(base.needs, where)
    if type(base.kind) is not Kind:
        lacks = rules(base.kind).lacks
        if lacks is not None:
            raise AppFileError(f"{where} is {lacks[0]}", lacks[1])
    return base.kind


def _split_none(annotation):
    if type(annotation).__name__ not in _UNIONS:
        return annotation, False
    members = annotation.__args__
    rest = [member for member in members if member is not type(None)]
    nullable = len(rest) < len(members)
    return (rest[0], nullable) if len(rest) == 1 else (annotation, nullable)


def python_kind(hint):
    """The kind for one of Python's own types; None for others."""
    origin = getattr(hint, "__origin__", None)
    base = origin if isinstance(origin, type) else hint
    if isinstance(base, type) and base is not dict and dict in base.__mro__:
        base = dict  # A TypedDict.
    named = (getattr(base, "__module__", None), getattr(base, "__qualname__", None))
    return next((kind for kind in DISPLAY if named in rules(kind).hints), None)


def _written(hint):
    text = hint.__name__ if isinstance(hint, type) else repr(hint)
    return text if len(text) <= 80 else text[:77] + "..."
