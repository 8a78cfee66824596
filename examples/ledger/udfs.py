"""Functions of both versions. They stand in a module of their own, so that app.py may change around them."""

from fractions import Fraction

import appdb as db


@db.udf
def net_of(cents: int, percent: float) -> int:
    """What is left without the tax that is in it; exact, then whole cents, half to even."""
    return round(Fraction(cents) * 100 / (100 + Fraction(percent)))


@db.udf
def reserve(net: int) -> int:
    """A tenth of what comes in is kept; of what goes out, nothing."""
    if net == 66_600:
        raise ValueError("nobody books 666.00")
    return max(net, 0) // 10


@db.udf
def band(kept: int, *, limit: int) -> str:
    return "none" if kept == 0 else "small" if kept < limit else "large"


@db.udf
def remark(size: str, kept: int, memo: str | None) -> str:
    return f"{memo or '-'}: {size} ({kept})"
