"""Binary: bytes; base64 in literals."""

from appdb.kinds._base import ColumnType, Rules, no_decoder, repr_of
from appdb.values import wrong_type


class Binary(ColumnType):
    kind = "binary"


def from_binary(value):
    if type(value) is bytes:
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise wrong_type(value, "bytes")


def _to_literal(stored, type):
    from binascii import b2a_base64

    return b2a_base64(stored, newline=False).decode()


def _from_literal(literal, type):
    from binascii import a2b_base64

    return a2b_base64(literal)


RULES = Rules(
    python="bytes",
    hints=(("builtins", "bytes"),),
    display=None,
    lacks=None,
    encoder=lambda type: from_binary,
    decoder=no_decoder,
    from_wire=None,
    to_literal=_to_literal,
    from_literal=_from_literal,
    is_shared=True,
    printed=repr_of,
    casts={},
    is_ordered=False,
    is_key=False,
    is_indexed=False,
    is_embedded=False,
    is_zoned=False,
    is_text_in_json=False,
    column="bytes",
    json_schema=None,
    instead=None,
    check=None,
    is_written=lambda value, texts: True,
)
