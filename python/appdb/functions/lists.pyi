# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions over the elements of a list in a Json value: `map(doc.tags, lambda tag: tag.name)`; also methods of it."""

from collections.abc import Callable
from typing import Any

from appdb import Json

FUNCTIONS: dict[str, Any]

def map(expr: Any, fn: Callable[[Any], Any]) -> Json:
    """The results of `fn` for each element; null if the value is not a list."""

def filter(expr: Any, predicate: Callable[[Any], Any]) -> Json:
    """The elements for which `predicate` holds; null if the value is not a list."""

def sort(expr: Any, key: Callable[[Any], Any] | None = None, *, asc: bool = True) -> Json:
    """The elements sorted by their keys, nulls last (first if not `asc`); null if the value is not a list."""
