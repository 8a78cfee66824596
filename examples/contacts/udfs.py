"""Functions over contacts."""

import appdb as db


@db.udf
def dialled(phone: str, country: str = "49") -> str:
    """A phone number as every network takes it: +49301234 for 030 1234. A null phone gives null without a call."""
    digits = "".join(mark for mark in phone if mark.isdigit())
    if len(digits) < 5:
        raise ValueError(f"{phone!r} is not a phone number")
    if phone.lstrip().startswith("+"):
        return f"+{digits}"
    return f"+{country}{digits.removeprefix('0')}"


@db.udf
def initials(name: str) -> str:
    return "".join(word[0].upper() for word in name.split())
