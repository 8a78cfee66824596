"""Functions of Json values; all but `dumps` and `make_list` are also methods: `len(doc.tags)` is `doc.tags.len()`.

A value of an unsupported type raises TypeError, as in Python.
"""

from __future__ import annotations

import builtins

from appdb.functions._aggregates import make_list  # noqa: F401  # also `json.make_list`
from appdb.functions._builtin import Namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Json

_json = Namespace("json", iterators=("list_iterator",))
function, FUNCTIONS = _json.function, _json.functions
__getattr__ = _json.unknown

_NAMES = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}


@function([([1, 2], [3], [1, 2, 3]), ({}, [3], TypeError), (None, [3], None), ([1], None, None)])
def concat(self: Json | None, /, other: Json | None) -> Json | None:
    """The elements of both lists."""
    if self is None or other is None:
        return None
    return _a("concat", list, self) + _a("concat", list, other)


@function([(["a"], "a", True), ({"a": None}, "a", True), ("a", "a", False), ([1.0], 1, True), ({"a": 1}, [1], False)])
def contains(self: Json, /, value: Json) -> bool:
    """Whether a list has the element, or an object the key."""
    if type(self) is dict:
        return type(value) is str and value in self
    return type(self) is list and value in self


@function([([1, 2, 1], 1, 2), ("aa", "a", TypeError)])
def count(self: Json, /, value: Json) -> int:
    """How often a list contains the element."""
    return _a("count", list, self).count(value)


@function([([1, [2, [3]], []], [1, 2, [3]]), ({}, TypeError)])
def flatten(self: Json, /) -> Json:
    """A list with the elements of its lists in their places, one level deep."""
    flat = []
    for element in _a("flatten", list, self):
        if type(element) is list:
            flat += element
        else:
            flat.append(element)
    return flat


@function(
    [({"a": 1}, "a", 3, 1), ({}, "a", 3, 3), ({"a": None}, "a", 3, None), ([1], "a", 3, 3), ({}, "a", None)]
    + [({}, "a", {"b": [1]}, {"b": [1]}), (None, "a", 3, 3), (None, "a", {"b": [1]}, {"b": [1]})]
)
def get(self: Json | None, /, key: str, default: Json | None = None) -> Json | None:
    """The value under a key; `default` if the key is missing."""
    return self.get(key, default) if type(self) is dict else default


@function([([], True), (0, False), ("", True), (None, True), ({"a": 1}, False)])
def is_empty(self: Json | None, /) -> bool:
    """Whether the value is null, or an empty list, object or text."""
    return self is None or (type(self) in (dict, list, str) and not self)


@function([({"b": 1, "a": None}, [["b", 1], ["a", None]])])
def items(self: Json, /) -> Json:
    """The pairs of an object, as lists of key and value."""
    return [[key, value] for key, value in _a("items", dict, self).items()]


@function([({"b": 1, "a": 2}, ["b", "a"]), ([1], TypeError)])
def keys(self: Json, /) -> Json:
    """The keys of an object."""
    return list(_a("keys", dict, self))


@function([([1, 2], 2), ({"a": 1}, 1), ("é🎉", 2), (5, TypeError)])
def len(self: Json, /) -> int:
    """Number of elements, keys or characters of the value."""
    if type(self) in (dict, list, str):
        return builtins.len(self)
    raise TypeError(f"len wants a list, an object or text, not {_NAMES[type(self)]}")


@function([([1, 2.5], 2.5), ([], None)])
def max(self: Json, /) -> float | None:
    """The largest number of a list; null for an empty one."""
    numbers = _numbers("max", self)
    return float(builtins.max(numbers)) if numbers else None


@function([([1, 2], 1.5), ([], None)])
def mean(self: Json, /) -> float | None:
    """The mean of a list of numbers; null for an empty one."""
    numbers = _numbers("mean", self)
    return _total(numbers) / builtins.len(numbers) if numbers else None


@function([({"a": 1, "b": 3}, {"a": 2}, {"a": 2, "b": 3}), ([1], {"a": 2}, TypeError), (None, {"a": 2}, None)])
def merge(self: Json | None, /, other: Json | None) -> Json | None:
    """The first object, updated with the keys of the second."""
    if self is None or other is None:
        return None
    return {**_a("merge", dict, self), **_a("merge", dict, other)}


@function([([3, 2], 2.0), ([True], TypeError)])
def min(self: Json, /) -> float | None:
    """The smallest number of a list; null for an empty one."""
    numbers = _numbers("min", self)
    return float(builtins.min(numbers)) if numbers else None


@function([([0.1, 0.2, 0.3], 0.6), ([9007199254740993, -1], 9007199254740992.0), (["a"], TypeError)])
def sum(self: Json, /) -> float:
    """The sum of a list of numbers."""
    return _total(_numbers("sum", self))


@function([({"b": 1, "a": [2]}, [1, [2]])])
def values(self: Json, /) -> Json:
    """The values of an object."""
    return list(_a("values", dict, self).values())


@function([({"é": [1.5, None]}, '{"\\u00e9": [1.5, null]}')], is_method=False)
def dumps(obj: Json, /) -> str:
    """The value as JSON text."""
    import json

    return json.dumps(obj)


def _total(numbers):
    # Python's sum() of floats differs between versions; this one is exact until the last rounding.
    import math

    if all(type(number) is int for number in numbers):
        return float(builtins.sum(numbers))
    return math.fsum(numbers)


def _numbers(function, doc):
    for number in _a(function, list, doc):
        if type(number) not in (int, float):
            raise TypeError(f"{function} wants a list of numbers; one element is {_NAMES[type(number)]}")
    return doc


def _a(function, wanted, doc):
    if type(doc) is wanted:
        return doc
    raise TypeError(f"{function} wants {_NAMES[wanted]}, not {_NAMES[type(doc)]}")
