# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions that make and print UUIDs. In a model they run once, at insert, and the row keeps the value."""

from typing import Any

from appdb import String, UUID

FUNCTIONS: dict[str, Any]

def hex(self: Any, /) -> String:
    """The 32 hexadecimal digits of a UUID."""

def to_string(self: Any, /) -> String:
    """A UUID in its usual form, with hyphens."""

def uuid4() -> UUID:
    """A random UUID."""

def uuid7() -> UUID:
    """A UUID that sorts by creation time."""
