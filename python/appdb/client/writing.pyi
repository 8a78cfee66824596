from typing import Any

class UpdateStatus:
    """What a write did."""

    num_rows: int
    """Inserted, changed or deleted rows."""
    num_excs: int
    """Failed cells."""
    rows: list[dict[str, Any]] | None
    """The stored rows, with `return_rows=True`."""
