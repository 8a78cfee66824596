"""Functions of numbers, each also a method: `sqrt(area)` is `area.sqrt()`. An Int argument for a Float is converted.

A Float function returns a float where Python's own returns an int.
"""

from __future__ import annotations

import builtins

from appdb.functions._builtin import Namespace

_math = Namespace("math")
function, FUNCTIONS = _math.function, _math.functions
__getattr__ = _math.unknown


@function([(-2.5, 2.5), (-2, 2.0)])
def abs(self: float, /) -> float:
    return builtins.abs(self)


@function([(-0.5, 0.0), (1.2, 2.0)])
def ceil(self: float, /) -> float:
    import math

    return float(math.ceil(self))


@function([(0.0, 1.0), (1000.0, OverflowError)])
def exp(self: float, /) -> float:
    import math

    return math.exp(self)


@function([(-1.2, -2.0)])
def floor(self: float, /) -> float:
    import math

    return float(math.floor(self))


@function([(1.0, 0.0), (0.0, ValueError)])
def log(self: float, /) -> float:
    import math

    return math.log(self)


@function([(1000.0, 3.0)])
def log10(self: float, /) -> float:
    import math

    return math.log10(self)


@function([(3.0, 2.0, 9.0), (0.0, -1, ZeroDivisionError), (-8.0, 0.5, ValueError)])
def pow(self: float, /, other: float) -> float:
    result = self**other
    if type(result) is complex:
        raise ValueError("a negative number to a fractional power is not a Float")
    return result


@function([(2.5, 2.0), (2.675, 2, 2.67), (12350.0, -2, 12400.0)])
def round(self: float, /, digits: int | None = None) -> float:
    """Rounded to `digits` places, half to even."""
    return float(builtins.round(self, digits))


@function([(2.25, 1.5), (-1.0, ValueError)])
def sqrt(self: float, /) -> float:
    import math

    return math.sqrt(self)


@function([(-2.7, -2), (1e300, OverflowError)])
def to_int(self: float, /) -> int:
    """The number without its fraction."""
    return int(self)


@function([(-3, 6, 4)])
def bitwise_and(self: int, /, other: int) -> int:
    return self & other


@function([(-3, 6, -1)])
def bitwise_or(self: int, /, other: int) -> int:
    return self | other


@function([(-3, 6, -5)])
def bitwise_xor(self: int, /, other: int) -> int:
    return self ^ other


@function([(3, 3.0)])
def to_float(self: int, /) -> float:
    return float(self)
