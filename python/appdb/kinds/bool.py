"""Bool: true and false."""

from appdb.kinds._base import ColumnType, Rules, as_it_is, no_decoder, repr_of, same
from appdb.values import plain_scalar


class Bool(ColumnType):
    kind = "bool"


def from_bool(value):
    return value if type(value) is bool else from_bool(plain_scalar(value, "bool"))


RULES = Rules(
    python="bool",
    hints=(("builtins", "bool"),),
    display=None,
    lacks=None,
    encoder=lambda type: from_bool,
    decoder=no_decoder,
    from_wire=None,
    to_literal=as_it_is,
    from_literal=as_it_is,
    is_shared=True,
    printed=repr_of,
    casts={"string": str, "int": int, "json": same},
    is_ordered=True,
    is_key=True,
    is_indexed=False,
    is_embedded=False,
    is_zoned=False,
    is_text_in_json=False,
    column="u8",
    json_schema={"type": "boolean"},
    instead=None,
    check=None,
    is_written=lambda value, texts: True,
)
