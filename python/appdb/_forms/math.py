"""Functions of numbers. What Python's own give back as an int is made a float again: the functions give a Float."""

import math


def _ceil(value):
    return float(math.ceil(value))


def _floor(value):
    return float(math.floor(value))


def _round(value, digits=None):
    return float(round(value, digits))


def _pow(value, other):
    result = value**other
    if type(result) is complex:
        raise ValueError("a negative number to a fractional power is no Float")
    return result


FORMS = {
    "abs": abs,
    "ceil": _ceil,
    "exp": math.exp,
    "floor": _floor,
    "log": math.log,
    "log10": math.log10,
    "pow": _pow,
    "round": _round,
    "sqrt": math.sqrt,
    "bitwise_and": int.__and__,
    "bitwise_or": int.__or__,
    "bitwise_xor": int.__xor__,
    "to_float": float,
    "to_int": int,
}
