"""Conversions written as a function."""

from appdb._expr import lift


def cast(expr, target_type):
    """Converts a value to another type: `cast(n, db.String)` is `n.astype(db.String)`."""
    return lift(expr).astype(target_type)
