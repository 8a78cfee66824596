"""Functions of timestamps, each also a method or, for its parts, a property. Parts are those in UTC."""

from typing import Any

from appdb import Date, Expr, Float, Int, Json, String, Timestamp

Moment = Any
Whole = Expr | int | None
Text = Expr | str | None

FUNCTIONS: dict[str, Any]
METHODS: dict[str, Any]

def now() -> Timestamp:
    """The time: of a new row, when it is stored, which it keeps; in a query, when it is asked."""

def year(self: Moment, /) -> Int: ...
def month(self: Moment, /) -> Int: ...
def day(self: Moment, /) -> Int: ...
def hour(self: Moment, /) -> Int: ...
def minute(self: Moment, /) -> Int: ...
def second(self: Moment, /) -> Int: ...
def microsecond(self: Moment, /) -> Int: ...
def date(self: Moment, /) -> Date: ...
def astimezone(self: Moment, /, tz: Text) -> Timestamp:
    """The same moment in the zone `tz` ('Europe/Paris'), for what is called on the result."""

def strip_timezone(self: Moment, /) -> Timestamp:
    """The time as it is written, without its zone."""

def replace(
    self: Moment,
    /,
    year: Whole = None,
    month: Whole = None,
    day: Whole = None,
    hour: Whole = None,
    minute: Whole = None,
    second: Whole = None,
    microsecond: Whole = None,
) -> Timestamp: ...
def make_timestamp(
    year: Whole,
    month: Whole,
    day: Whole,
    hour: Whole = 0,
    minute: Whole = 0,
    second: Whole = 0,
    microsecond: Whole = 0,
) -> Timestamp: ...
def isoformat(self: Moment, /, sep: Text = "T", timespec: Text = "auto") -> String: ...
def strftime(self: Moment, /, format: Text) -> String: ...
def weekday(self: Moment, /) -> Int:
    """0 on Mondays, 6 on Sundays."""

def isoweekday(self: Moment, /) -> Int:
    """1 on Mondays, 7 on Sundays."""

def toordinal(self: Moment, /) -> Int: ...
def isocalendar(self: Moment, /) -> Json:
    """`{"year": ..., "week": ..., "weekday": ...}` of the ISO calendar."""

def posix_timestamp(self: Moment, /) -> Float:
    """Seconds since 1970."""
