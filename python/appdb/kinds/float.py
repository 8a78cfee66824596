"""Float: finite 64-bit numbers."""

from appdb.kinds._base import ColumnType, Rules, as_it_is, no_decoder, repr_of, same
from appdb.values import INFINITY, checked_int, plain_scalar


class Float(ColumnType):
    kind = "float"


def from_float(value):
    if type(value) is not float:
        if type(value) is bool or not isinstance(value, (int, float)):
            return from_float(plain_scalar(value, "float"))
        value = float(value)
    if -INFINITY < value < INFINITY:
        return value
    raise ValueError(f"{value} is not a finite number; a Float holds only finite numbers")


RULES = Rules(
    python="float",
    hints=(("builtins", "float"),),
    display=None,
    lacks=None,
    encoder=lambda type: from_float,
    decoder=no_decoder,
    from_wire=float,  # A whole number may arrive as an int.
    to_literal=as_it_is,
    from_literal=lambda literal, type: float(literal),
    is_shared=True,
    printed=repr_of,
    casts={"string": str, "int": lambda value: checked_int(int(value)), "json": same},
    is_ordered=True,
    is_key=True,
    is_indexed=True,
    is_embedded=False,
    is_zoned=False,
    is_text_in_json=False,
    column="f64",
    json_schema={"type": "number"},
    instead=None,
    check=None,
    is_written=lambda value, texts: len(repr(value)) < 10 or repr(value) in texts,
)
