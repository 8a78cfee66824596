"""Functions of timestamps, each also a method or, for its parts, a property: `ts.year`, `ts.weekday()`.

A stored timestamp is in UTC, and so are its parts; `astimezone` gives it another zone for what is called on its result.
"""

from appdb._calls import Parameter
from appdb.functions._builtin import Namespace

_timestamp = Namespace("timestamp", "timestamp")
_PARTS = ("year", "month", "day", "hour", "minute", "second", "microsecond")

year = _timestamp.method("year", "int", is_property=True)
month = _timestamp.method("month", "int", is_property=True)
day = _timestamp.method("day", "int", is_property=True)
hour = _timestamp.method("hour", "int", is_property=True)
minute = _timestamp.method("minute", "int", is_property=True)
second = _timestamp.method("second", "int", is_property=True)
microsecond = _timestamp.method("microsecond", "int", is_property=True)

date = _timestamp.method("date", "date")
astimezone = _timestamp.method("astimezone", "timestamp", Parameter("tz", "string"))
strip_timezone = _timestamp.method("strip_timezone", "timestamp")
replace = _timestamp.method("replace", "timestamp", *(Parameter(part, "int", True, None) for part in _PARTS))
make_timestamp = _timestamp.function(
    "make_timestamp",
    "timestamp",
    *(Parameter(part, "int") for part in _PARTS[:3]),
    *(Parameter(part, "int", default=0) for part in _PARTS[3:]),
)
isoformat = _timestamp.method(
    "isoformat",
    "string",
    Parameter("sep", "string", default="T"),
    Parameter("timespec", "string", default="auto"),
)
strftime = _timestamp.method("strftime", "string", Parameter("format", "string"))
weekday = _timestamp.method("weekday", "int")
isoweekday = _timestamp.method("isoweekday", "int")
toordinal = _timestamp.method("toordinal", "int")
isocalendar = _timestamp.method("isocalendar", "json")
posix_timestamp = _timestamp.method("posix_timestamp", "float")

METHODS = dict(_timestamp.functions)

now = _timestamp.function("now", "timestamp")

FUNCTIONS = _timestamp.functions

__getattr__ = _timestamp.unknown
