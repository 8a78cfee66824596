from typing import Any

class ComputedRow(dict[str, Any]):
    """A computed row."""

    errors: dict[str, dict[str, str]]
    """The failed cells by column: `{"errortype": "ValueError", "errormsg": "..."}`."""
