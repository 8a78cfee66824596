"""Functions of dates, each also a method or, for its parts, a property."""

from typing import Any

from appdb import Date, Expr, Int, Json, String

Day = Any
Whole = Expr | int | None
Text = Expr | str | None

FUNCTIONS: dict[str, Any]
METHODS: dict[str, Any]

def year(self: Day, /) -> Int: ...
def month(self: Day, /) -> Int: ...
def day(self: Day, /) -> Int: ...
def add_days(self: Day, /, n: Whole) -> Date: ...
def replace(self: Day, /, year: Whole = None, month: Whole = None, day: Whole = None) -> Date: ...
def make_date(year: Whole, month: Whole, day: Whole) -> Date: ...
def isoformat(self: Day, /, sep: Text = "T", timespec: Text = "auto") -> String: ...
def strftime(self: Day, /, format: Text) -> String: ...
def weekday(self: Day, /) -> Int:
    """0 on Mondays, 6 on Sundays."""

def isoweekday(self: Day, /) -> Int:
    """1 on Mondays, 7 on Sundays."""

def toordinal(self: Day, /) -> Int: ...
def isocalendar(self: Day, /) -> Json:
    """`{"year": ..., "week": ..., "weekday": ...}` of the ISO calendar."""
