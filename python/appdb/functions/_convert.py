"""Conversions in function form."""

from __future__ import annotations

from appdb.expressions.expr import lift

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from appdb import Expr


def cast(expr: Any, target_type: type[Expr]) -> Any:
    """Converts a value to another type: `cast(n, db.String)` is `n.astype(db.String)`."""
    return lift(expr).astype(target_type)
