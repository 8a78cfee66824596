"""Functions of timestamps, each also a method or, for its parts, a property: `ts.year`, `ts.weekday()`.

A stored timestamp and its parts are in UTC. `astimezone` sets another zone for calls on its result. A timestamp
without a zone counts as UTC.
"""

from __future__ import annotations

from appdb.functions._builtin import Namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime as dt
    from datetime import datetime

_timestamp = Namespace("timestamp")
function, FUNCTIONS = _timestamp.function, _timestamp.functions
__getattr__ = _timestamp.unknown

_TS = "2024-12-30T23:30:15.123456Z"  # For the examples.


@function([(_TS, 2024)], is_property=True)
def year(self: datetime, /) -> int:
    return self.year


@function([(_TS, 12)], is_property=True)
def month(self: datetime, /) -> int:
    return self.month


@function([(_TS, 30)], is_property=True)
def day(self: datetime, /) -> int:
    return self.day


@function([(_TS, 23)], is_property=True)
def hour(self: datetime, /) -> int:
    return self.hour


@function([(_TS, 30)], is_property=True)
def minute(self: datetime, /) -> int:
    return self.minute


@function([(_TS, 15)], is_property=True)
def second(self: datetime, /) -> int:
    return self.second


@function([(_TS, 123456)], is_property=True)
def microsecond(self: datetime, /) -> int:
    return self.microsecond


@function([(_TS, "2024-12-30")])
def date(self: datetime, /) -> dt.date:
    return self.date()


@function([(_TS, "Asia/Tokyo", _TS), (_TS, "No/Where", KeyError)])
def astimezone(self: datetime, /, tz: str) -> datetime:
    """The same moment in the zone `tz` ('Europe/Paris'), for calls on the result."""
    from zoneinfo import ZoneInfo

    return _zoned(self).astimezone(ZoneInfo(tz))


@function([(_TS, _TS)])
def strip_timezone(self: datetime, /) -> datetime:
    """The local time without its zone."""
    return self.replace(tzinfo=None)


@function(
    [
        (_TS, 2023, None, None, None, None, None, 0, "2023-12-30T23:30:15Z"),
        (_TS, 2023, None, 1, "2023-12-01T23:30:15.123456Z"),
        (_TS, None, 2, ValueError),
    ]
)
def replace(
    self: datetime,
    /,
    year: int | None = None,
    month: int | None = None,
    day: int | None = None,
    hour: int | None = None,
    minute: int | None = None,
    second: int | None = None,
    microsecond: int | None = None,
) -> datetime:
    parts = {"year": year, "month": month, "day": day, "hour": hour, "minute": minute}
    parts |= {"second": second, "microsecond": microsecond}
    return self.replace(**{name: part for name, part in parts.items() if part is not None})


@function(
    [
        (2024, 2, 29, "2024-02-29T00:00:00Z"),
        (2023, 2, 28, 1, 2, 3, 4, "2023-02-28T01:02:03.000004Z"),
        (2023, 2, 29, ValueError),
    ]
)
def make_timestamp(
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0, microsecond: int = 0
) -> datetime:
    from datetime import datetime, timezone

    return datetime(year, month, day, hour, minute, second, microsecond, timezone.utc)


@function(
    [
        (_TS, "2024-12-30T23:30:15.123456+00:00"),
        (_TS, " ", "seconds", "2024-12-30 23:30:15+00:00"),
        (_TS, "T", "week", ValueError),
    ]
)
def isoformat(self: datetime, /, sep: str = "T", timespec: str = "auto") -> str:
    return self.isoformat(sep, timespec)


@function([(_TS, "%Y/%m/%d %H:%M", "2024/12/30 23:30")])
def strftime(self: datetime, /, format: str) -> str:
    return self.strftime(format)


@function([(_TS, 0)])
def weekday(self: datetime, /) -> int:
    """0 on Mondays, 6 on Sundays."""
    return self.weekday()


@function([(_TS, 1)])
def isoweekday(self: datetime, /) -> int:
    """1 on Mondays, 7 on Sundays."""
    return self.isoweekday()


@function([(_TS, 739250)])
def toordinal(self: datetime, /) -> int:
    return self.toordinal()


@function([(_TS, {"year": 2025, "week": 1, "weekday": 1})])
def isocalendar(self: datetime, /) -> dict:
    """`{"year": ..., "week": ..., "weekday": ...}` of the ISO calendar."""
    year, week, weekday = self.isocalendar()
    return {"year": year, "week": week, "weekday": weekday}


@function([(_TS, 1735601415.123456)])
def posix_timestamp(self: datetime, /) -> float:
    """Seconds since 1970."""
    return _zoned(self).timestamp()


@function(is_method=False)
def now() -> datetime:
    """The current time. For a new row: when it is stored, and kept. In a query: when it runs."""
    from datetime import datetime, timezone

    return datetime.now(timezone.utc)


def _zoned(value):
    from datetime import timezone

    return value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)
