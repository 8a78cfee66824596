"""UUID: UUIDs of any version."""

from appdb.kinds._base import ColumnType, Rules, as_it_is
from appdb.values import wrong_type


class UUID(ColumnType):
    kind = "uuid"


def _encoder(type):
    from uuid import UUID

    def from_uuid(value):
        if isinstance(value, UUID):
            return UUID.__str__(value)
        raise wrong_type(value, "UUID")

    return from_uuid


def _decoder(type):
    from uuid import UUID

    return UUID


RULES = Rules(
    python="UUID",
    hints=(("uuid", "UUID"),),
    display=None,
    lacks=None,
    encoder=_encoder,
    decoder=_decoder,
    from_wire=None,
    to_literal=as_it_is,
    from_literal=as_it_is,
    is_shared=True,
    printed=lambda value, literal: f"UUID({literal!r})",
    casts={"string": str, "json": str},
    is_ordered=True,
    is_key=True,
    is_indexed=True,
    is_embedded=False,
    is_zoned=False,
    is_text_in_json=True,
    column="b16",
    json_schema={"type": "string", "format": "uuid"},
    instead="Use uuid4() or uuid7() of appdb.functions: each new row gets its own.",
    check=None,
    is_written=lambda value, texts: value in texts or value.replace("-", "") in texts,
)
