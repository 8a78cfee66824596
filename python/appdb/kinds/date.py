"""Date: calendar days."""

from appdb.kinds._base import ColumnType, Rules, as_it_is
from appdb.kinds.timestamp import is_time_written
from appdb.values import wrong_type


class Date(ColumnType):
    kind = "date"


def _encoder(type):
    from datetime import date, datetime

    def from_date(value):
        if isinstance(value, date) and not isinstance(value, datetime):
            return date.isoformat(value)
        raise wrong_type(value, "date")

    return from_date


def _decoder(type):
    from datetime import date

    return date.fromisoformat


def _midnight(day):
    from datetime import datetime, timezone

    return datetime(day.year, day.month, day.day, tzinfo=timezone.utc)


RULES = Rules(
    python="date",
    hints=(("datetime", "date"),),
    display=None,
    lacks=None,
    encoder=_encoder,
    decoder=_decoder,
    from_wire=None,
    to_literal=as_it_is,
    from_literal=as_it_is,
    is_shared=True,
    printed=lambda value, literal: f"Date({literal!r})",
    casts={"string": lambda value: value.isoformat(), "timestamp": _midnight, "json": lambda value: value.isoformat()},
    is_ordered=True,
    is_key=True,
    is_indexed=True,
    is_embedded=False,
    is_zoned=False,
    is_text_in_json=True,
    column="days",
    json_schema={"type": "string", "format": "date"},
    instead="Use now().date() of appdb.functions, or a function marked @udf.",
    check=None,
    is_written=is_time_written,
)
