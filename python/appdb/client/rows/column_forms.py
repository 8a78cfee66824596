"""The bytes of a column's values, by the form that the kind of the column names."""

import array
import math
import sys
import uuid
from datetime import date, datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NAIVE_EPOCH = datetime(1970, 1, 1)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_FIRST_DAY = timedelta(days=1 - _EPOCH_DAY)
_END_DAY = timedelta(days=date.max.toordinal() + 1 - _EPOCH_DAY)


class Form:
    """`types`: the exact types of values. `filler` stands for null. `pack` gives the parts, or None if it cannot."""

    __slots__ = ("name", "types", "filler", "pack")

    def __init__(self, name, types, filler, pack):
        self.name = name
        self.types = frozenset(types)
        self.filler = filler
        self.pack = pack


def little(code, values):
    """Numbers as little-endian bytes."""
    packed = array.array(code, values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def texts_of(texts):
    """The parts of a column of bytes: the lengths, and the bytes."""
    return [little("I", map(len, texts)), b"".join(texts)]


def _ints(values):
    return [little("q", values)]


def _floats(values):
    # A sum is finite only if all its numbers are, and mostly if they are.
    isfinite = math.isfinite
    return [little("d", values)] if isfinite(sum(values)) or all(map(isfinite, values)) else None


def _strings(values):
    joined = "".join(values)
    if "\0" in joined:
        return None
    if joined.isascii():
        return [little("I", map(len, values)), joined.encode()]
    return texts_of([value.encode() for value in values])


def _micros(values):
    zones = {value.tzinfo for value in values}
    if None in zones:
        if len(zones) > 1:
            zone = timezone.utc  # A time without a zone is UTC.
            values = [value.replace(tzinfo=zone) if value.tzinfo is None else value for value in values]
            epoch = _EPOCH
        else:
            epoch = _NAIVE_EPOCH
    else:
        epoch = _EPOCH
    passed = [value - epoch for value in values]
    if min(passed) < _FIRST_DAY or max(passed) >= _END_DAY:
        return None
    return [little("q", [(one.days * 86_400 + one.seconds) * 1_000_000 + one.microseconds for one in passed])]


def _days(values):
    return [little("i", [value.toordinal() - _EPOCH_DAY for value in values])]


_FORMS = {
    form.name: form
    for form in (
        Form("i64", {int}, 0, _ints),
        Form("f64", {float, int}, 0.0, _floats),
        Form("u8", {bool}, False, lambda values: [bytes(values)]),
        Form("micros", {datetime}, _EPOCH, _micros),
        Form("days", {date}, date(1970, 1, 1), _days),
        Form("b16", {uuid.UUID}, uuid.UUID(int=0), lambda values: [b"".join([value.bytes for value in values])]),
        Form("utf8", {str}, "", _strings),
        Form("bytes", {bytes}, b"", texts_of),
    )
}


def form_of(name):
    """The form of a name; None for None."""
    return None if name is None else _FORMS[name]
