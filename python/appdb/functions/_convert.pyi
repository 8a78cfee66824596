from typing import Any

from appdb import Expr

def cast(expr: Any, target_type: type[Expr]) -> Any:
    """Converts a value to another type: `cast(n, db.String)` is `n.astype(db.String)`."""
