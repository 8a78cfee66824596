"""Int: 64-bit integers."""

from appdb.kinds._base import ColumnType, Rules, no_decoder, repr_of, same
from appdb.values import INT_MAX, INT_MIN, plain_scalar, short_int


class Int(ColumnType):
    kind = "int"


def from_int(value):
    if type(value) is not int:
        if type(value) is bool or not isinstance(value, int):
            return from_int(plain_scalar(value, "int"))
        value = int.__index__(value)
    if INT_MIN <= value <= INT_MAX:
        return value
    raise OverflowError(f"{short_int(value)} does not fit an Int (64 bits)")


RULES = Rules(
    python="int",
    hints=(("builtins", "int"),),
    display=None,
    lacks=None,
    encoder=lambda type: from_int,
    decoder=no_decoder,
    from_wire=None,
    to_literal=lambda stored, type: str(stored),
    from_literal=lambda literal, type: int(literal),
    is_shared=True,
    printed=repr_of,
    casts={"string": str, "float": float, "bool": bool, "json": same},
    is_ordered=True,
    is_key=True,
    is_indexed=True,
    is_embedded=False,
    is_zoned=False,
    is_text_in_json=False,
    column="i64",
    json_schema={"type": "integer"},
    instead=None,
    check=None,
    is_written=lambda value, texts: len(value) < 9 or value in texts,
)
