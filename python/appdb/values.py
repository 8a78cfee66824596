"""The column boundary: converts Python objects to the values that a column stores, and back.

A stored value has the engine's form (packages/contract/src/types.ts): text, bool, an int of 64 bits, a finite float,
ISO text for a Timestamp (UTC) or Date, hyphened text for a UUID, JSON text for Json, bytes for Binary, shape and
elements for an Array (expressions/arrays.py), None for null.
"""

from appdb.kinds import rules

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1
INFINITY = float("inf")


class WrongType(TypeError):
    """A value of another type than the column's."""


def encoder(type):
    """`type` is a manifest's type, or the kind of one without parameters.

    Returns the function from a Python object to the stored form.

    It raises WrongType for another type, ValueError or OverflowError for a value that the column cannot hold.
    """
    return rules(type if isinstance(type, str) else type["kind"]).encoder(type)


def decoder(type):
    """`type` is a manifest's type, or the kind of one without parameters.

    Returns the function from the stored form to the Python object, or None where they are the same."""
    return rules(type if isinstance(type, str) else type["kind"]).decoder(type)


def to_json(value):
    """Returns the JSON text of a value: key order is kept, keys are text, numbers finite, None inside is null."""
    return rules("json").encoder("json")(value)


def checked_int(value):
    """Returns an Int that fits its column. Raises OverflowError beyond 64 bits."""
    if type(value) is float:
        raise ValueError("an Int to a negative power is not an Int; convert it with .astype(db.Float) first")
    if INT_MIN <= value <= INT_MAX:
        return value
    raise OverflowError("the result does not fit an Int (64 bits)")


def checked_float(value):
    """Returns a finite Float. Raises OverflowError for any other."""
    if -INFINITY < value < INFINITY:
        return value
    raise OverflowError("the result is not a finite Float")


def plain_scalar(value, wanted):
    """Unwraps a scalar of numpy or similar; raises WrongType for anything else."""
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        inner = value.item()
        if type(inner) in (str, int, float, bool):
            return _fitting(inner, wanted, value)
    raise wrong_type(value, wanted)


def _fitting(inner, wanted, value):
    number = wanted == "float" and type(inner) is int
    if number or type(inner).__name__ == wanted or wanted.startswith("a JSON"):
        return inner
    raise wrong_type(value, wanted)


def wrong_type(value, wanted):
    """The error of a value of another type than the column's."""
    return WrongType(f"expected {wanted}, got {type_name(value)}")


def type_name(value):
    """Names a value's Python type for a message."""
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return "None" if value is None else name[:150]


def refuse_surrogates(text):
    """Raises ValueError for a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("text contains a lone surrogate, which no column can store") from None


def short_int(value):
    """Prints an int for a message."""
    # Printing a very long int is slow, and refused by Python beyond 4300 digits.
    return str(value) if value.bit_length() < 400 else f"an int of {value.bit_length()} bits"
