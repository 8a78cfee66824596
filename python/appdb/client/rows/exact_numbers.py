"""Numbers that a Float would change: they are kept for Json columns, and refused elsewhere."""

import json
import re
import secrets
from decimal import Decimal

#: A Float has at least so many digits. A shorter number does not change.
_SHORT = 15
#: Decimals of larger powers of ten are not written out.
_MOST_DIGITS = 1_000
#: The encoder of JSON cannot write digits unchanged. It writes a text that no other text contains, which is replaced.
_TOKEN = f"\0{secrets.token_hex(12)}:"
_WRITTEN = re.compile(re.escape(json.dumps(_TOKEN)[:-1]) + r'([^"]*)"')


class JsonNumber:
    """A number of a JSON text whose digits a Float would change."""

    __slots__ = ("text",)

    def __init__(self, text):
        self.text = text


def json_number(text):
    """Reads the text of a number with a fraction or an exponent, for json.loads(parse_float=...)."""
    value = float(text)
    if len(text) <= _SHORT + 1 or value - value != 0 or Decimal(text) == Decimal(repr(value)):
        return value
    return JsonNumber(text)


def decimal_json(value):
    """The form of a Decimal in JSON: an int or a float if it is the same number, or a text for `with_exact`.

    Raises ValueError."""
    if not value.is_finite():
        return float(value) if not value.is_snan() else float("nan")
    if value != 0 and abs(value.adjusted()) > _MOST_DIGITS:
        raise ValueError(f"{value:.6e} has more than {_MOST_DIGITS} digits, which no column can store")
    near = _near(value)
    if near is None:
        return _TOKEN + _written(value)
    return int(value) if value == value.to_integral_value() else near


def _written(value):
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _near(value):
    """The Float of a Decimal, None if it is another number in digits."""
    near = float(value)
    return near if near - near == 0 and Decimal(repr(near)) == value else None


def number_json(number):
    """The form of a JsonNumber in JSON."""
    return _TOKEN + number.text


def has_exact(text):
    """Whether a JSON text has exact numbers, which `with_exact` writes."""
    return _TOKEN[1:] in text


def with_exact(text):
    """A JSON text with the digits of its exact numbers."""
    return _WRITTEN.sub(r"\1", text) if has_exact(text) else text


def short_number(value):
    """A Decimal for people."""
    text = _written(value) if abs(value.adjusted()) <= _MOST_DIGITS else f"{value:e}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def changed_number(value):
    """A number of a value that a Float would change; None without one."""
    if isinstance(value, Decimal) and value.is_finite():
        return value if _near(value) is None else None
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return None
    return next((found for one in value if (found := changed_number(one)) is not None), None)
