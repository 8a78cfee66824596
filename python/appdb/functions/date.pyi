# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions of dates, each also a method or, for its parts, a property: `day.year`, `day.add_days(7)`."""

from typing import Any

from appdb import Date, Expr, Int, Json, String

Text = Expr | str | None
Whole = Expr | int | None

FUNCTIONS: dict[str, Any]

def year(self: Any, /) -> Int: ...
def month(self: Any, /) -> Int: ...
def day(self: Any, /) -> Int: ...
def add_days(self: Any, /, n: Whole) -> Date: ...
def replace(self: Any, /, year: Whole = None, month: Whole = None, day: Whole = None) -> Date: ...
def make_date(year: Whole, month: Whole, day: Whole) -> Date: ...
def isoformat(self: Any, /, sep: Text = "T", timespec: Text = "auto") -> String: ...
def strftime(self: Any, /, format: Text) -> String: ...

def weekday(self: Any, /) -> Int:
    """0 on Mondays, 6 on Sundays."""

def isoweekday(self: Any, /) -> Int:
    """1 on Mondays, 7 on Sundays."""

def toordinal(self: Any, /) -> Int: ...

def isocalendar(self: Any, /) -> Json:
    """`{"year": ..., "week": ..., "weekday": ...}` of the ISO calendar."""
