"""Functions of dates, each also a method or, for its parts, a property: `day.year`, `day.add_days(7)`."""

from appdb._calls import Parameter
from appdb.functions._builtin import Namespace

_date = Namespace("date", "date")
_PARTS = ("year", "month", "day")

year = _date.method("year", "int", is_property=True)
month = _date.method("month", "int", is_property=True)
day = _date.method("day", "int", is_property=True)

add_days = _date.method("add_days", "date", Parameter("n", "int"))
replace = _date.method("replace", "date", *(Parameter(part, "int", True, None) for part in _PARTS))
make_date = _date.function("make_date", "date", *(Parameter(part, "int") for part in _PARTS))
isoformat = _date.method(
    "isoformat",
    "string",
    Parameter("sep", "string", default="T"),
    Parameter("timespec", "string", default="auto"),
)
strftime = _date.method("strftime", "string", Parameter("format", "string"))
weekday = _date.method("weekday", "int")
isoweekday = _date.method("isoweekday", "int")
toordinal = _date.method("toordinal", "int")
isocalendar = _date.method("isocalendar", "json")

FUNCTIONS = _date.functions
METHODS = FUNCTIONS

__getattr__ = _date.unknown
