"""String: Unicode text of any length."""

from appdb.kinds._base import ColumnType, Rules, as_it_is, no_decoder, repr_of, same
from appdb.values import checked_float, checked_int, plain_scalar, refuse_surrogates


class String(ColumnType):
    kind = "string"


def from_string(value):
    if type(value) is not str:
        if not isinstance(value, str):
            return from_string(plain_scalar(value, "str"))
        value = str.__str__(value)
    if "\0" in value:
        raise ValueError("text contains a NUL character, which no column can store")
    if not value.isascii():
        refuse_surrogates(value)
    return value


def _timestamp(text):
    from appdb.kinds.timestamp import parse_timestamp

    return parse_timestamp(text)


def _date(text):
    from datetime import date

    return date.fromisoformat(text)


def _uuid(text):
    from uuid import UUID

    return UUID(text)


def is_text_written(value, texts):
    """Whether the possibly generated parts of a text are written in the files."""
    import re

    return all(part in texts for part in re.findall(r"(?=[0-9a-fA-F]*[0-9])[0-9a-fA-F]{6,}", value))


RULES = Rules(
    python="str",
    hints=(("builtins", "str"),),
    display=None,
    lacks=None,
    encoder=lambda type: from_string,
    decoder=no_decoder,
    from_wire=None,
    to_literal=as_it_is,
    from_literal=as_it_is,
    is_shared=True,
    printed=repr_of,
    casts={
        "int": lambda text: checked_int(int(text)),
        "float": lambda text: checked_float(float(text)),
        "timestamp": _timestamp,
        "date": _date,
        "uuid": _uuid,
        "json": same,
    },
    is_ordered=True,
    is_key=True,
    is_indexed=True,
    is_embedded=True,
    is_zoned=False,
    is_text_in_json=False,
    column="utf8",
    json_schema={"type": "string"},
    instead=None,
    check=None,
    is_written=is_text_written,
)
