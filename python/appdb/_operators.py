"""Operators over Python objects: each is compiled to a closure over its arguments' closures.

A null argument gives null, except where an operator says otherwise. Ints stay in 64 bits and Floats finite: what leaves
those is an error of the cell.
"""

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1
_INFINITY = float("inf")


def _int(value):
    if type(value) is float:
        raise ValueError("an Int to a negative power is no Int; convert it with .astype(db.Float) first")
    if INT_MIN <= value <= INT_MAX:
        return value
    raise OverflowError("the result does not fit an Int (64 bits)")


def _float(value):
    if -_INFINITY < value < _INFINITY:
        return value
    raise OverflowError("the result is no finite Float")


def _text(value):
    return value


_CHECKS = {"int": _int, "float": lambda value: _float(float(value)), "string": _text}


def _binary(name, operate):
    def compile_binary(args, expr, failure):
        left, right = args
        check = _CHECKS[expr["type"]["kind"]]

        def binary(row):
            a = left(row)
            b = right(row)
            if a is None or b is None:
                return None
            try:
                return check(operate(a, b))
            except Exception as error:
                raise failure(name, error) from error

        return binary

    return compile_binary


def _comparison(compare, compare_json=None):
    def compile_comparison(args, expr, failure):
        left, right = args
        compared = compare_json if expr["args"][0]["type"]["kind"] == "json" else compare

        def comparison(row):
            a = left(row)
            b = right(row)
            if a is None or b is None:
                return None
            return compared(a, b)

        return comparison

    return compile_comparison


def _negate(args, expr, failure):
    (argument,) = args
    check = _CHECKS[expr["type"]["kind"]]

    def negate(row):
        value = argument(row)
        if value is None:
            return None
        try:
            return check(-value)
        except OverflowError as error:
            raise failure("op.neg", error) from error

    return negate


def _and(args, expr, failure):
    left, right = args

    def and_(row):
        a = left(row)
        b = right(row)
        if a is False or b is False:
            return False
        return None if a is None or b is None else True

    return and_


def _or(args, expr, failure):
    left, right = args

    def or_(row):
        a = left(row)
        b = right(row)
        if a is True or b is True:
            return True
        return None if a is None or b is None else False

    return or_


def _not(args, expr, failure):
    (argument,) = args

    def not_(row):
        value = argument(row)
        return None if value is None else not value

    return not_


def _is_null(args, expr, failure):
    (argument,) = args
    return lambda row: argument(row) is None


def _is_not_null(args, expr, failure):
    (argument,) = args
    return lambda row: argument(row) is not None


def _power(a, b):
    if type(a) is int and type(b) is int:
        if b > 63 and not -2 < a < 2:
            raise OverflowError("the result does not fit an Int (64 bits)")  # said before it is computed
    result = a**b
    if type(result) is complex:
        raise ValueError("a negative number to a fractional power is no Float")
    return result


def _equal(a, b):
    """Equality of Json values: as ==, but true is no 1."""
    if type(a) is bool or type(b) is bool:
        return a is b
    if type(a) is dict and type(b) is dict:
        return a.keys() == b.keys() and all(_equal(value, b[key]) for key, value in a.items())
    if type(a) is list and type(b) is list:
        return len(a) == len(b) and all(map(_equal, a, b))
    return a == b


OPERATORS = {
    "op.add": _binary("op.add", lambda a, b: a + b),
    "op.sub": _binary("op.sub", lambda a, b: a - b),
    "op.mul": _binary("op.mul", lambda a, b: a * b),
    "op.truediv": _binary("op.truediv", lambda a, b: a / b),
    "op.floordiv": _binary("op.floordiv", lambda a, b: a // b),
    "op.mod": _binary("op.mod", lambda a, b: a % b),
    "op.pow": _binary("op.pow", _power),
    "op.neg": _negate,
    "op.eq": _comparison(lambda a, b: a == b, _equal),
    "op.ne": _comparison(lambda a, b: a != b, lambda a, b: not _equal(a, b)),
    "op.lt": _comparison(lambda a, b: a < b),
    "op.le": _comparison(lambda a, b: a <= b),
    "op.gt": _comparison(lambda a, b: a > b),
    "op.ge": _comparison(lambda a, b: a >= b),
    "op.and": _and,
    "op.or": _or,
    "op.not": _not,
    "op.is_null": _is_null,
    "op.is_not_null": _is_not_null,
}


def casting(source, target):
    """Returns the function that converts a value of one type to another (`astype`); it raises where it cannot."""
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
    return _int(_json_is(int)(value))


def _json_name(value):
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return names.get(type(value), "a number")


_TO_STRING = {"timestamp": _iso, "date": lambda value: value.isoformat()}
_JSON_OF = {"timestamp": _iso, "date": lambda value: value.isoformat(), "uuid": str}
_FROM_JSON = {
    "string": _json_text,
    "int": _json_int,
    "float": lambda value: _float(float(_json_is(float, int)(value))),
    "bool": _json_is(bool),
    "timestamp": lambda value: _timestamp(_json_is(str)(value)),
    "date": lambda value: _date(_json_is(str)(value)),
    "uuid": lambda value: _uuid(_json_is(str)(value)),
}
_CASTS = {
    ("string", "int"): lambda text: _int(int(text)),
    ("string", "float"): lambda text: _float(float(text)),
    ("string", "timestamp"): _timestamp,
    ("string", "date"): _date,
    ("string", "uuid"): _uuid,
    ("int", "float"): float,
    ("int", "bool"): bool,
    ("float", "int"): lambda value: _int(int(value)),
    ("bool", "int"): int,
    ("timestamp", "date"): lambda value: value.date(),
    ("date", "timestamp"): _midnight,
}
