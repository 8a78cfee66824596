# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions of arrays, each also a method: `to_list(embedding)` is `embedding.to_list()`."""

from typing import Any

from appdb import Json

FUNCTIONS: dict[str, Any]

def to_list(self: Any, /) -> Json:
    """The array as nested lists."""
