from typing import Any

from appdb import UUID, String

FUNCTIONS: dict[str, Any]
METHODS: dict[str, Any]

def uuid4() -> UUID:
    """A random UUID."""

def uuid7() -> UUID:
    """A UUID that sorts by the time of its making."""

def hex(self: Any, /) -> String:
    """The 32 hexadecimal digits of a UUID."""

def to_string(self: Any, /) -> String:
    """A UUID as it is usually written, with hyphens."""
