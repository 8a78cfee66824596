# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions of Json values; all but `dumps` and `make_list` are also methods: `len(doc.tags)` is `doc.tags.len()`."""

from typing import Any

from appdb import Bool, Expr, Float, Int, Json, String

from ._aggregates import make_list as make_list

Text = Expr | str | None

FUNCTIONS: dict[str, Any]

def concat(self: Any, /, other: Any) -> Json:
    """The elements of both lists."""

def contains(self: Any, /, value: Any) -> Bool:
    """Whether a list has the element, or an object the key."""

def count(self: Any, /, value: Any) -> Int:
    """How often a list contains the element."""

def flatten(self: Any, /) -> Json:
    """A list with the elements of its lists in their places, one level deep."""

def get(self: Any, /, key: Text, default: Any = None) -> Json:
    """The value under a key; `default` if the key is missing."""

def is_empty(self: Any, /) -> Bool:
    """Whether the value is null, or an empty list, object or text."""

def items(self: Any, /) -> Json:
    """The pairs of an object, as lists of key and value."""

def keys(self: Any, /) -> Json:
    """The keys of an object."""

def len(self: Any, /) -> Int:
    """Number of elements, keys or characters of the value."""

def max(self: Any, /) -> Float:
    """The largest number of a list; null for an empty one."""

def mean(self: Any, /) -> Float:
    """The mean of a list of numbers; null for an empty one."""

def merge(self: Any, /, other: Any) -> Json:
    """The first object, updated with the keys of the second."""

def min(self: Any, /) -> Float:
    """The smallest number of a list; null for an empty one."""

def sum(self: Any, /) -> Float:
    """The sum of a list of numbers."""

def values(self: Any, /) -> Json:
    """The values of an object."""

def dumps(obj: Any, /) -> String:
    """The value as JSON text."""

def list_iterator(elements: Any = None, *, mode: Text = "strict", **lists: Any) -> Any:
    """The objects of a list, with an output for each member; or elements of lists by name, with an output for each.

    The lists are typed: `db.Json[list[{"a": db.Int}]]`, or `db.Json[list[db.Int]]` by name. Lists of different lengths
    are an error (`strict`), end with the shortest one (`truncated`), or are filled with null (`padded`).
    """
