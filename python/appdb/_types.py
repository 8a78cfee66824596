"""The column types, and how annotations and type hints are read.

Inside the library a type is its kind (`"string"`, `"int"`), nullability beside it.
"""

from appdb._errors import AppFileError, later


class _Type:
    """A column type; used as an annotation, never made into an object."""

    kind = ""

    def __new__(cls, *args, **kwargs):
        raise AppFileError(
            f"{cls.__name__} is a type and is not called.", f"Write {cls.__name__} without brackets behind it."
        )


class String(_Type):
    kind = "string"


class Int(_Type):
    kind = "int"


class Float(_Type):
    kind = "float"


class Bool(_Type):
    kind = "bool"


class Timestamp(_Type):
    kind = "timestamp"


class Date(_Type):
    kind = "date"


class UUID(_Type):
    kind = "uuid"


class Json(_Type):
    kind = "json"

    def __class_getitem__(cls, schema):
        raise later("A schema for Json (Json[...])", "Write Json alone.")


DISPLAY = {t.kind: t.__name__ for t in (String, Int, Float, Bool, Timestamp, Date, UUID, Json)}

# How Python's own types are called where a result is reported as wrong.
PYTHON_NAMES = {
    "string": "str",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "timestamp": "datetime",
    "date": "date",
    "uuid": "UUID",
    "json": "a JSON value (dict, list, str, int, float, bool)",
}

# Python's classes by module and name, so that naming them here loads nothing.
_PYTHON = {
    ("builtins", "str"): "string",
    ("builtins", "int"): "int",
    ("builtins", "float"): "float",
    ("builtins", "bool"): "bool",
    ("builtins", "dict"): "json",
    ("builtins", "list"): "json",
    ("builtins", "tuple"): "json",
    ("datetime", "datetime"): "timestamp",
    ("datetime", "date"): "date",
    ("uuid", "UUID"): "uuid",
    ("typing", "Any"): "json",
}
_LATER = {
    ("builtins", "bytes"): "Binary (bytes)",
    ("builtins", "bytearray"): "Binary (bytearray)",
    ("PIL.Image", "Image"): "Image",
    ("numpy", "ndarray"): "Array",
}
_UNIONS = ("UnionType", "Union", "_UnionGenericAlias")


def display(kind, nullable=False):
    """Prints a type as a person writes it: `String`, `Int | None`."""
    return f"{DISPLAY[kind]} | None" if nullable else DISPLAY[kind]


def column_type(annotation, name):
    """Reads a column's annotation: (kind, nullable). Raises AppFileError for all but the library's types."""
    base, nullable = _split_none(annotation)
    if isinstance(base, type) and issubclass(base, _Type) and base is not _Type:
        return base.kind, nullable
    python = _python_kind(base)
    if python is not None:
        wanted = display(python, nullable)
        raise AppFileError(
            f"Column '{name}' has the Python type {_written(base)}; a column wants a type of the library.",
            f"Write {name}: db.{wanted}",
        )
    _refuse_later(base, f"column '{name}'")
    raise AppFileError(
        f"Column '{name}' has the type {_written(base)}, which is none.",
        f"Use one of {', '.join(DISPLAY.values())}; add '| None' where it may be null.",
    )


def hint_type(hint, where):
    """Reads a type hint of a function: (kind, nullable). `where` names the place for messages."""
    base, nullable = _split_none(hint)
    if isinstance(base, type) and issubclass(base, _Type) and base is not _Type:
        return base.kind, nullable
    if base is None:
        raise AppFileError(f"{where} is None, which is no type of a column.", "Return a value, for example -> str.")
    python = _python_kind(base)
    if python is not None:
        return python, nullable
    _refuse_later(base, where)
    raise AppFileError(
        f"{where} has the type hint {_written(base)}, which no column type stands for.",
        "Use str, int, float, bool, datetime, date, UUID, dict, list, or a type of the library; '| None' may follow.",
    )


def _split_none(annotation):
    if type(annotation).__name__ not in _UNIONS:
        return annotation, False
    members = annotation.__args__
    rest = [member for member in members if member is not type(None)]
    nullable = len(rest) < len(members)
    return (rest[0], nullable) if len(rest) == 1 else (annotation, nullable)


def _python_kind(hint):
    origin = getattr(hint, "__origin__", None)
    base = origin if isinstance(origin, type) else hint
    known = _PYTHON.get((getattr(base, "__module__", None), getattr(base, "__qualname__", None)))
    if known is None and isinstance(base, type) and dict in base.__mro__:
        return "json"  # a TypedDict
    return known


def _refuse_later(base, where):
    name = _LATER.get((getattr(base, "__module__", None), getattr(base, "__qualname__", None)))
    if name is not None:
        raise later(f"The type {name} ({where})")


def _written(hint):
    text = hint.__name__ if isinstance(hint, type) else repr(hint)
    return text if len(text) <= 80 else text[:77] + "..."
