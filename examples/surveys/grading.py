"""Functions of the application. Each is known by module and name, and imported again where rows are computed."""

from typing import Any

import appdb as db


@db.udf
def describe(value: bool) -> str:
    return "yes" if value else "no"


# A call takes the signature that is nearest: a Bool is an Int too, and still is described as a Bool.
@describe.overload
def describe_number(value: int) -> str:
    return f"the number {value}"


@describe.overload
def describe_text(value: str) -> str:
    return f"a text of {len(value)}"


@db.udf
def names_of(value: dict[str, Any]) -> list[str]:
    """A dict arrives with its keys in the order in which they were sent."""
    return [name.upper() for name in value]


@db.udf
def grade(average: float | None, *, scale: list[str], half: bool = False) -> str:
    """A place on a scale, for an average from 1 to 5. None where nobody answered."""
    if average is None:
        return "none"
    share = (average - 1) / 4
    place = int(share * len(scale) - (0.5 if half else 0))
    return scale[max(0, min(place, len(scale) - 1))]


@db.udf
def headline(city: str | None, lang: str | None) -> str:
    hello = {"nl": "Dag", "de": "Guten Tag"}.get(lang or "", "Hello")
    return f"{hello}, {city or 'nobody'}!"


@db.expr_udf
def shout(text: str, times: int):
    """Stands for an expression: it runs while the file is read, never over rows."""
    return (text.upper() + "!") * times


def slug(text: str) -> str:
    """Not marked @udf: .apply() calls it with one value."""
    return "-".join("".join(mark if mark.isalnum() else " " for mark in text.lower()).split())
