"""Conversions from one column type to another (`astype`), over Python objects."""

from appdb.values import INT_MAX, INT_MIN

_INFINITY = float("inf")


def casting(source, target):
    """Returns the function that converts a value of one type to another (`astype`); it raises where it cannot."""
    if source == target == "json":
        return lambda value: value  # the schema is the engine's to check
    if source == "json":
        return _FROM_JSON[target]
    if target == "string":
        return _TO_STRING.get(source, str)
    if target == "json":
        return _JSON_OF.get(source, lambda value: value)
    return _CASTS[source, target]


def _timestamp(text):
    from datetime import datetime, timezone

    value = datetime.fromisoformat(text)
    return value if value.tzinfo else value.replace(tzinfo=timezone.utc)


def _date(text):
    from datetime import date

    return date.fromisoformat(text)


def _uuid(text):
    from uuid import UUID

    return UUID(text)


def _midnight(day):
    from datetime import datetime, timezone

    return datetime(day.year, day.month, day.day, tzinfo=timezone.utc)


def _iso(value):
    from appdb.values import encoder

    return encoder("timestamp")(value)


def _json_text(value):
    from appdb.values import to_json

    return value if type(value) is str else to_json(value)


def _json_is(*types):
    def convert(value):
        if type(value) in types:
            return value
        raise TypeError(f"the Json value is {_json_name(value)}, not {_json_name(types[0]())}")

    return convert


def _json_int(value):
    if type(value) is float and value.is_integer():
        value = int(value)
    return checked_int(_json_is(int)(value))


def _json_name(value):
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return names.get(type(value), "a number")


_TO_STRING = {"timestamp": _iso, "date": lambda value: value.isoformat()}
_JSON_OF = {"timestamp": _iso, "date": lambda value: value.isoformat(), "uuid": str}
_FROM_JSON = {
    "string": _json_text,
    "int": _json_int,
    "float": lambda value: checked_float(float(_json_is(float, int)(value))),
    "bool": _json_is(bool),
    "timestamp": lambda value: _timestamp(_json_is(str)(value)),
    "date": lambda value: _date(_json_is(str)(value)),
    "uuid": lambda value: _uuid(_json_is(str)(value)),
}
_CASTS = {
    ("string", "int"): lambda text: checked_int(int(text)),
    ("string", "float"): lambda text: checked_float(float(text)),
    ("string", "timestamp"): _timestamp,
    ("string", "date"): _date,
    ("string", "uuid"): _uuid,
    ("int", "float"): float,
    ("int", "bool"): bool,
    ("float", "int"): lambda value: checked_int(int(value)),
    ("bool", "int"): int,
    ("timestamp", "date"): lambda value: value.date(),
    ("date", "timestamp"): _midnight,
}


def checked_int(value):
    """Returns an Int that fits its column. Raises OverflowError beyond 64 bits."""
    if type(value) is float:
        raise ValueError("an Int to a negative power is no Int; convert it with .astype(db.Float) first")
    if INT_MIN <= value <= INT_MAX:
        return value
    raise OverflowError("the result does not fit an Int (64 bits)")


def checked_float(value):
    """Returns a finite Float. Raises OverflowError for any other."""
    if -_INFINITY < value < _INFINITY:
        return value
    raise OverflowError("the result is no finite Float")
