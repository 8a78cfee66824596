from typing import Any

from appdb import Json

FUNCTIONS: dict[str, Any]
METHODS: dict[str, Any]

def to_list(self: Any, /) -> Json:
    """The array as nested lists."""
