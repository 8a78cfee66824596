# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions of timestamps, each also a method or, for its parts, a property: `ts.year`, `ts.weekday()`."""

from typing import Any

from appdb import Date, Expr, Float, Int, Json, String, Timestamp

Text = Expr | str | None
Whole = Expr | int | None

FUNCTIONS: dict[str, Any]

def year(self: Any, /) -> Int: ...
def month(self: Any, /) -> Int: ...
def day(self: Any, /) -> Int: ...
def hour(self: Any, /) -> Int: ...
def minute(self: Any, /) -> Int: ...
def second(self: Any, /) -> Int: ...
def microsecond(self: Any, /) -> Int: ...
def date(self: Any, /) -> Date: ...

def astimezone(self: Any, /, tz: Text) -> Timestamp:
    """The same moment in the zone `tz` ('Europe/Paris'), for calls on the result."""

def strip_timezone(self: Any, /) -> Timestamp:
    """The local time without its zone."""

def replace(
    self: Any,
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
def isoformat(self: Any, /, sep: Text = "T", timespec: Text = "auto") -> String: ...
def strftime(self: Any, /, format: Text) -> String: ...

def weekday(self: Any, /) -> Int:
    """0 on Mondays, 6 on Sundays."""

def isoweekday(self: Any, /) -> Int:
    """1 on Mondays, 7 on Sundays."""

def toordinal(self: Any, /) -> Int: ...

def isocalendar(self: Any, /) -> Json:
    """`{"year": ..., "week": ..., "weekday": ...}` of the ISO calendar."""

def posix_timestamp(self: Any, /) -> Float:
    """Seconds since 1970."""

def now() -> Timestamp:
    """The current time. For a new row: when it is stored, and kept. In a query: when it runs."""
