"""Functions over parcels."""

import appdb as db

_WEIGHTS = (8, 6, 4, 2, 3, 5, 9, 7)


@db.udf
def check_digit(code: str) -> int:
    """The last digit of an international parcel number, from the eight before it. Raises for what is no such number."""
    digits = code[2:10]
    if len(code) != 12 or not digits.isdigit() or not code[10:].isalpha():
        raise ValueError(f"{code!r} is not like RR12345678DE")
    rest = 11 - sum(int(digit) * weight for digit, weight in zip(digits, _WEIGHTS, strict=True)) % 11
    return {10: 0, 11: 5}.get(rest, rest)
