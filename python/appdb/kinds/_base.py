"""The building blocks of the kinds: the annotation of a type, and the rules of its values."""

from appdb.declare.errors import AppFileError


class Kind(str):
    """A kind with its type's parameters."""

    __slots__ = ("type",)

    def __new__(cls, type):
        self = str.__new__(cls, type["kind"])
        self.type = type
        return self

    def __getnewargs__(self):
        return (self.type,)


class ColumnType:
    """A column type; used as an annotation, never instantiated."""

    kind = ""
    needs = ()  # Packages without which files of the type cannot be read (declare/packages.py).

    def __new__(cls, *args, **kwargs):
        raise AppFileError(
            f"{cls.__name__} is a type and is not called.", f"Write {cls.__name__} without brackets behind it."
        )


def parametrised(cls, full):
    """The class of a type with parameters. Raises AppFileError if it already has some."""
    if type(cls.kind) is Kind:
        from appdb.declare.types import display

        raise AppFileError(f"{display(cls.kind)} already has its brackets.", f"Write {cls.__name__}[...] once.")
    return type(cls.__name__, (cls,), {"kind": Kind(full), "__module__": cls.__module__})


class Rules:
    """The rules of a kind's values. Each kind must give all of them, so that a new one is complete."""

    __slots__ = (
        "python",  # Name of Python's own type, for the error of a wrong result.
        "hints",  # Python classes for the kind in type hints, by module and name.
        "display",  # Prints a manifest type with parameters in source form; None: there are none.
        "lacks",  # The error and hint for a type without parameters; None: parameters are optional.
        "encoder",  # From a manifest type: the function from a Python object to the stored form.
        "decoder",  # The function back, or None if both forms are equal.
        "from_wire",  # Converts a value that arrived as an int, if the kind has none; else None.
        "to_literal",  # From a stored value and the manifest type: the manifest literal.
        "from_literal",  # From a literal and the manifest type: the stored form.
        "is_shared",  # Whether all rows can share one Python object of a constant.
        "printed",  # A constant in source form, from the Python value and its literal.
        "casts",  # The conversion functions by target kind (`astype`).
        "is_ordered",  # Whether rows can be sorted, grouped and compared by it.
        "is_key",  # Whether it can be a primary key.
        "is_indexed",  # Whether a B-tree helps.
        "is_embedded",  # Whether an embedding index can be over it.
        "is_zoned",  # Whether Python objects can have a time zone.
        "is_text_in_json",  # Whether values with their own Python class are texts in JSON.
        "column",  # Name of the form in which columns of Python objects are sent; None: as JSON.
        "json_schema",  # Its schema inside a Json type; None: none.
        "instead",  # Advice instead of a constant that changes each time; None: the usual advice.
        "check",  # From a manifest type: the function that decodes a file of a column; None: values are not media.
        "is_written",  # Whether a constant is written in the files' text.
    )

    def __init__(self, **given):
        for name in self.__slots__:
            setattr(self, name, given.pop(name))
        if given:
            raise TypeError(f"A kind has no {', '.join(given)}.")


def same(value):
    """The value itself."""
    return value


def as_it_is(value, type):
    """The stored form equals the literal."""
    return value


def no_decoder(type):
    """The stored form equals the Python object."""
    return None


def repr_of(value, literal):
    """A constant in Python's repr."""
    return repr(value)
