"""Operators over Python objects: each is compiled to a closure over its arguments' closures.

A null argument gives null unless documented otherwise. Ints must fit 64 bits and Floats must be finite; otherwise
the cell fails.
"""

from appdb.values import checked_float, checked_int


def _text(value):
    return value


_CHECKS = {"int": checked_int, "float": lambda value: checked_float(float(value)), "string": _text}
# Kinds of results that operators check themselves, so that they need no encoder.
CHECKED = ("bool", "int", "float")


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


def _of_number(name, operate):
    """abs and round: the type stays, so a Float gives a Float."""

    def compile_of_number(args, expr, failure):
        check = _CHECKS[expr["type"]["kind"]]

        def of_number(row):
            values = [arg(row) for arg in args]
            if None in values:
                return None
            try:
                return check(operate(*values))
            except Exception as error:
                raise failure(name, error) from error

        return of_number

    return compile_of_number


def _round(value, digits=0):
    # round(x) of a Float would be an int; a rounded Float stays a Float with its sign.
    return round(value, digits)


def _in(args, expr, failure):
    value, options = args[0], args[1:]
    constants = _constants(options, expr)
    equal = _equal if expr["args"][0]["type"]["kind"] == "json" else lambda a, b: a == b

    def in_constants(row):
        found = value(row)
        return None if found is None else found in constants

    def in_(row):
        found = value(row)
        others = [option(row) for option in options]
        if not others:
            return False
        if found is None:
            return None
        if any(other is not None and equal(found, other) for other in others):
            return True
        return None if None in others else False

    return in_ if constants is None else in_constants


def one_of_list(value, options):
    """`op.in` over the elements of a Json value; null if it is not a list."""

    def in_list(row):
        found, others = value(row), options(row)
        if type(others) is not list or (found is None and others):
            return None
        if any(other is not None and _equal(found, other) for other in others):
            return True
        return None if None in others else False

    return in_list


def _constants(options, expr):
    """The options as a set, if all are non-null constants that a set distinguishes like ==; else None."""
    literals = [arg["node"] == "literal" and arg["value"] is not None for arg in expr["args"][1:]]
    if not options or not all(literals) or expr["args"][0]["type"]["kind"] == "json":
        return None
    return frozenset(option(()) for option in options)


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


def _draw(args, expr, failure):
    """A number from 0 to 1 for a text, always the same: which rows of a table a sampled view has."""
    from hashlib import md5

    (argument,) = args

    def draw(row):
        text = argument(row)
        return None if text is None else int(md5(text.encode(), usedforsecurity=False).hexdigest()[:13], 16) / 2**52

    return draw


def _power(a, b):
    if type(a) is int and type(b) is int:
        if b > 63 and not -2 < a < 2:
            raise OverflowError("the result does not fit an Int (64 bits)")  # Reported before it is computed.
    result = a**b
    if type(result) is complex:
        raise ValueError("a negative number to a fractional power is not a Float")
    return result


def _equal(a, b):
    """Equality of Json values: like ==, but true is not 1."""
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
    "op.in": _in,
    "op.draw": _draw,
    "op.abs": _of_number("op.abs", abs),
    "op.round": _of_number("op.round", _round),
    "op.is_null": _is_null,
    "op.is_not_null": _is_not_null,
}
