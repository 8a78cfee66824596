"""Timestamp: instants with microseconds, in UTC."""

from appdb.kinds._base import ColumnType, Rules, as_it_is
from appdb.values import wrong_type


class Timestamp(ColumnType):
    kind = "timestamp"


def parse_timestamp(text):
    """Parses ISO text; a time without a zone is UTC."""
    from datetime import datetime, timezone

    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=timezone.utc)


def _encoder(type=None):
    from datetime import datetime, timezone

    utc = timezone.utc

    def from_timestamp(value):
        if not isinstance(value, datetime):
            raise wrong_type(value, "datetime")
        if value.tzinfo is None or value.utcoffset() is None:
            value = value.replace(tzinfo=utc)  # A time without a zone is UTC.
        else:
            value = value.astimezone(utc)
        text = datetime.isoformat(value)
        return text[:-6] + "Z"

    return from_timestamp


def _decoder(type):
    from datetime import datetime

    return datetime.fromisoformat


def _iso(value):
    return _encoder()(value)


def is_time_written(value, texts):
    """Whether the numbers of a time, except those up to 12, are written in the files."""
    import re

    return all(str(int(part)) in texts for part in re.findall(r"[0-9]+", value) if int(part) > 12)


RULES = Rules(
    python="datetime",
    hints=(("datetime", "datetime"),),
    display=None,
    lacks=None,
    encoder=_encoder,
    decoder=_decoder,
    from_wire=None,
    to_literal=as_it_is,
    from_literal=as_it_is,
    is_shared=True,
    printed=lambda value, literal: f"Timestamp({literal!r})",
    casts={"string": _iso, "date": lambda value: value.date(), "json": _iso},
    is_ordered=True,
    is_key=True,
    is_indexed=True,
    is_embedded=False,
    is_zoned=True,
    is_text_in_json=True,
    column="micros",
    json_schema={"type": "string", "format": "date-time"},
    instead="Use now() of appdb.functions: it is the time of each new row, which the row keeps.",
    check=None,
    is_written=is_time_written,
)
