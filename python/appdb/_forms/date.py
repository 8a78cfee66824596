"""Functions of dates."""

from datetime import date, timedelta


def _part(name):
    read = getattr(date, name).__get__
    return lambda value: read(value)


def _add_days(value, n):
    return value + timedelta(days=n)


def _isocalendar(value):
    year, week, weekday = value.isocalendar()
    return {"year": year, "week": week, "weekday": weekday}


def _isoformat(value, sep="T", timespec="auto"):
    return value.isoformat()  # a date has no time that the other two could be about


def _replace(value, year=None, month=None, day=None):
    parts = {"year": year, "month": month, "day": day}
    return value.replace(**{name: part for name, part in parts.items() if part is not None})


FORMS = {
    "year": _part("year"),
    "month": _part("month"),
    "day": _part("day"),
    "add_days": _add_days,
    "replace": _replace,
    "make_date": date,
    "isoformat": _isoformat,
    "strftime": date.strftime,
    "weekday": date.weekday,
    "isoweekday": date.isoweekday,
    "toordinal": date.toordinal,
    "isocalendar": _isocalendar,
}
