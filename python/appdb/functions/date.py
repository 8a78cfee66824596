"""Functions of dates, each also a method or, for its parts, a property: `day.year`, `day.add_days(7)`."""

from __future__ import annotations

from appdb.functions._builtin import Namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import date

_date = Namespace("date")
function, FUNCTIONS = _date.function, _date.functions
__getattr__ = _date.unknown


@function([("2024-12-30", 2024)], is_property=True)
def year(self: date, /) -> int:
    return self.year


@function([("2024-12-30", 12)], is_property=True)
def month(self: date, /) -> int:
    return self.month


@function([("2024-12-30", 30)], is_property=True)
def day(self: date, /) -> int:
    return self.day


@function([("2024-12-30", 2, "2025-01-01"), ("9999-12-31", 1, OverflowError)])
def add_days(self: date, /, n: int) -> date:
    from datetime import timedelta

    return self + timedelta(days=n)


@function([("2024-12-30", None, None, 1, "2024-12-01"), ("2024-12-30", None, 2, ValueError)])
def replace(self: date, /, year: int | None = None, month: int | None = None, day: int | None = None) -> date:
    parts = {"year": year, "month": month, "day": day}
    return self.replace(**{name: part for name, part in parts.items() if part is not None})


@function([(2024, 2, 29, "2024-02-29"), (2024, 13, 1, ValueError)])
def make_date(year: int, month: int, day: int) -> date:
    from datetime import date

    return date(year, month, day)


@function([("2024-12-30", "2024-12-30"), ("2024-12-30", " ", "seconds", "2024-12-30")])
def isoformat(self: date, /, sep: str = "T", timespec: str = "auto") -> str:
    return self.isoformat()  # A date has no time for the other two options.


@function([("2024-12-30", "%d.%m.%y", "30.12.24")])
def strftime(self: date, /, format: str) -> str:
    return self.strftime(format)


@function([("2024-12-30", 0)])
def weekday(self: date, /) -> int:
    """0 on Mondays, 6 on Sundays."""
    return self.weekday()


@function([("2024-12-30", 1)])
def isoweekday(self: date, /) -> int:
    """1 on Mondays, 7 on Sundays."""
    return self.isoweekday()


@function([("2024-12-30", 739250)])
def toordinal(self: date, /) -> int:
    return self.toordinal()


@function([("2024-12-30", {"year": 2025, "week": 1, "weekday": 1})])
def isocalendar(self: date, /) -> dict:
    """`{"year": ..., "week": ..., "weekday": ...}` of the ISO calendar."""
    year, week, weekday = self.isocalendar()
    return {"year": year, "week": week, "weekday": weekday}
