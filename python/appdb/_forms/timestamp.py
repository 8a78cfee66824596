"""Functions of timestamps. A timestamp has a zone, UTC as it is stored; one that has lost its zone counts as UTC."""

from datetime import datetime, timezone


def _now():
    return datetime.now(timezone.utc)


def _part(name):
    read = getattr(datetime, name).__get__
    return lambda value: read(value)


def _astimezone(value, tz):
    from zoneinfo import ZoneInfo

    return _zoned(value).astimezone(ZoneInfo(tz))


def _isocalendar(value):
    year, week, weekday = value.isocalendar()
    return {"year": year, "week": week, "weekday": weekday}


def _make_timestamp(year, month, day, hour=0, minute=0, second=0, microsecond=0):
    return datetime(year, month, day, hour, minute, second, microsecond, timezone.utc)


def _posix_timestamp(value):
    return _zoned(value).timestamp()


def _replace(value, year=None, month=None, day=None, hour=None, minute=None, second=None, microsecond=None):
    parts = {"year": year, "month": month, "day": day, "hour": hour, "minute": minute}
    parts |= {"second": second, "microsecond": microsecond}
    return value.replace(**{name: part for name, part in parts.items() if part is not None})


def _strip_timezone(value):
    return value.replace(tzinfo=None)


def _zoned(value):
    return value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)


FORMS = {
    "now": _now,
    "year": _part("year"),
    "month": _part("month"),
    "day": _part("day"),
    "hour": _part("hour"),
    "minute": _part("minute"),
    "second": _part("second"),
    "microsecond": _part("microsecond"),
    "date": datetime.date,
    "astimezone": _astimezone,
    "strip_timezone": _strip_timezone,
    "replace": _replace,
    "make_timestamp": _make_timestamp,
    "isoformat": datetime.isoformat,
    "strftime": datetime.strftime,
    "weekday": datetime.weekday,
    "isoweekday": datetime.isoweekday,
    "toordinal": datetime.toordinal,
    "isocalendar": _isocalendar,
    "posix_timestamp": _posix_timestamp,
}
