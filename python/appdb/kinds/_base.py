"""What the modules of the kinds are made of: the annotation of a type, and the rules of its values."""

from appdb.declare.errors import AppFileError


class Kind(str):
    """A kind with its type's parameters."""

    __slots__ = ("type",)

    def __new__(cls, type):
        self = str.__new__(cls, type["kind"])
        self.type = type
        return self


class ColumnType:
    """A column type; used as an annotation, never made into an object."""

    kind = ""

    def __new__(cls, *args, **kwargs):
        raise AppFileError(
            f"{cls.__name__} is a type and is not called.", f"Write {cls.__name__} without brackets behind it."
        )


def parametrised(cls, full):
    """The class of a type with parameters. Raises AppFileError where it has some already."""
    if type(cls.kind) is Kind:
        from appdb.declare.types import display

        raise AppFileError(f"{display(cls.kind)} has its brackets already.", f"Write {cls.__name__}[...] once.")
    return type(cls.__name__, (cls,), {"kind": Kind(full), "__module__": cls.__module__})


class Rules:
    """What a kind says of its values. Each kind gives all of it, so that a new one has forgotten nothing."""

    __slots__ = (
        "python",  # how Python's own type is called where a result is reported as wrong
        "hints",  # Python's classes that stand for the kind in type hints, by module and name
        "display",  # from a manifest's type with parameters, how a person writes it; None: there are none
        "lacks",  # what a type without parameters lacks, and what to write; None: nothing
        "encoder",  # from a manifest's type, the function from a Python object to the stored form
        "decoder",  # the function back, or None where they are the same
        "from_wire",  # reads a value that came as an int, where the kind has none; else None
        "to_literal",  # from a stored value and the manifest's type, the literal of a manifest
        "from_literal",  # from a literal and the manifest's type, the stored form
        "is_shared",  # whether every row may have the same Python object of a constant
        "printed",  # a constant as a person would write it, from the Python value and its literal
        "casts",  # by kind that a value converts to, the function that does (`astype`)
        "is_ordered",  # whether rows can be sorted and grouped by it, and told apart
        "is_key",  # whether it can be a primary key
        "is_indexed",  # whether a B-tree helps there
        "is_embedded",  # whether an embedding index can be over it
        "is_zoned",  # whether Python objects may have a time zone
        "is_text_in_json",  # whether JSON carries values as texts that Python has objects for
        "json_schema",  # what stands for it within a Json type; None: nothing
        "instead",  # what to write instead of a constant that is another one each time; None: the usual
        "is_written",  # whether a constant can be read off the texts of the files
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
    """The stored form and the literal are one."""
    return value


def no_decoder(type):
    """The stored form is the Python object."""
    return None


def repr_of(value, literal):
    """A constant as Python writes it."""
    return repr(value)
