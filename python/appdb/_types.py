"""The column types, and how annotations and type hints are read.

Inside the library a type is its kind (`"string"`, `"int"`), nullability beside it. The kind of a type with parameters is
a Kind: it equals the plain kind and carries the type as the manifest has it.
"""

from appdb._errors import AppFileError, later


class Kind(str):
    """A kind with its type's parameters."""

    __slots__ = ("type",)

    def __new__(cls, type):
        self = str.__new__(cls, type["kind"])
        self.type = type
        return self


def manifest_type(kind):
    """The type as the manifest has it."""
    return kind.type if type(kind) is Kind else {"kind": kind}


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

    def __class_getitem__(cls, item):
        from appdb._json_schema import json_schema

        return cls._of(json_schema(item))

    @classmethod
    def schema(cls, document):
        """A Json type whose values meet a JSON Schema (draft 2020-12): `doc: db.Json.schema({"type": "object"})`."""
        from appdb._json_schema import given_schema

        return cls._of(given_schema(document))

    @classmethod
    def _of(cls, schema):
        return _parametrised(cls, {"kind": "json", "schema": schema}) if schema else cls


class Array(_Type):
    kind = "array"

    def __class_getitem__(cls, item):
        from appdb._array_type import array_type

        return _parametrised(cls, array_type(item))


class Binary(_Type):
    kind = "binary"


class Required:
    """`Required[String]` is String: a column may be null only where it says `| None`."""

    def __class_getitem__(cls, item):
        base, nullable = _split_none(item)
        if nullable:
            raise AppFileError(
                f"Required[{_written(base)} | None] is both required and nullable.",
                f"Write {_written(base)} | None, or take '| None' out.",
            )
        return item


def _parametrised(cls, full):
    if type(cls.kind) is Kind:
        raise AppFileError(f"{display(cls.kind)} has its brackets already.", f"Write {cls.__name__}[...] once.")
    return type(cls.__name__, (cls,), {"kind": Kind(full), "__module__": __name__})


DISPLAY = {t.kind: t.__name__ for t in (String, Int, Float, Bool, Timestamp, Date, UUID, Json, Array, Binary)}

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
    "array": "an array (numpy.ndarray, or nested lists)",
    "binary": "bytes",
}

# Python's classes by module and name, so that naming them here loads nothing.
_PYTHON = {
    ("builtins", "str"): "string",
    ("builtins", "int"): "int",
    ("builtins", "float"): "float",
    ("builtins", "bool"): "bool",
    ("builtins", "bytes"): "binary",
    ("builtins", "dict"): "json",
    ("builtins", "list"): "json",
    ("builtins", "tuple"): "json",
    ("datetime", "datetime"): "timestamp",
    ("datetime", "date"): "date",
    ("uuid", "UUID"): "uuid",
    ("typing", "Any"): "json",
}
_LATER = {
    ("PIL.Image", "Image"): "Image",
}
_UNIONS = ("UnionType", "Union", "_UnionGenericAlias")


def display(kind, nullable=False):
    """Prints a type as a person writes it: `String`, `Int | None`."""
    text = DISPLAY[kind] if type(kind) is not Kind else _display_full(kind.type)
    return f"{text} | None" if nullable else text


def _display_full(full):
    if full["kind"] == "array":
        from appdb._array_type import display_array

        return display_array(full)
    from appdb._json_schema import display_json

    return display_json(full.get("schema"))


def column_type(annotation, name):
    """Reads a column's annotation: (kind, nullable). Raises AppFileError for all but the library's types."""
    base, nullable = _split_none(annotation)
    if isinstance(base, type) and issubclass(base, _Type) and base is not _Type:
        return _complete(base, f"Column '{name}'"), nullable
    if base is Required:
        raise AppFileError(f"Column '{name}' is Required without a type.", f"Write {name}: db.Required[db.String]")
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
        return _complete(base, where), nullable
    if base is None:
        raise AppFileError(f"{where} is None, which is no type of a column.", "Return a value, for example -> str.")
    python = _python_kind(base)
    if python is not None:
        return python, nullable
    if getattr(getattr(base, "__origin__", base), "__module__", None) == "numpy":
        from appdb._array_type import numpy_hint

        array = numpy_hint(base)
        if array is not None:
            return Kind(array), nullable
    _refuse_later(base, where)
    raise AppFileError(
        f"{where} has the type hint {_written(base)}, which no column type stands for.",
        "Use str, int, float, bool, datetime, date, UUID, dict, list, or a type of the library; '| None' may follow.",
    )


def _complete(base, where):
    if base.kind == "array" and type(base.kind) is not Kind:
        raise AppFileError(
            f"{where} is an Array without a dtype.",
            "Write db.Array[(768,), db.Float], or db.Array[db.Float] for any shape.",
        )
    return base.kind


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
