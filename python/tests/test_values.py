"""The stored value of a Python object, and refusals."""

import enum
import math
from datetime import date, datetime, timedelta, timezone
from uuid import UUID

import pytest

from appdb.values import WrongType, decoder, encoder, to_json


class Color(enum.IntEnum):
    RED = 1


class Name(enum.StrEnum):
    A = "a"


class Boxed:
    """A scalar like numpy's."""

    dtype = "any"
    ndim = 0

    def __init__(self, value):
        self._value = value

    def item(self):
        return self._value


SEVEN = timezone(timedelta(hours=7))
STORED = [
    ("string", "ünï 🎉", "ünï 🎉"),
    ("string", Name.A, "a"),
    ("string", "", ""),
    ("int", 2**63 - 1, 2**63 - 1),
    ("int", -(2**63), -(2**63)),
    ("int", Color.RED, 1),
    ("int", Boxed(5), 5),
    ("float", 2, 2.0),
    ("float", -0.0, -0.0),
    ("float", 5e-324, 5e-324),
    ("float", Boxed(1.5), 1.5),
    ("float", Boxed(2), 2.0),
    ("bool", False, False),
    ("bool", Boxed(True), True),
    ("timestamp", datetime(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05Z"),
    ("timestamp", datetime(2024, 1, 2, 3, 4, 5, 6, SEVEN), "2024-01-01T20:04:05.000006Z"),
    ("timestamp", datetime(1, 1, 1, tzinfo=timezone.utc), "0001-01-01T00:00:00Z"),
    ("timestamp", datetime(9999, 12, 31, 23, 59, 59, 999999), "9999-12-31T23:59:59.999999Z"),
    ("date", date(2024, 2, 29), "2024-02-29"),
    ("uuid", UUID(int=10), "00000000-0000-0000-0000-00000000000a"),
    ("json", {"b": 1, "a": [True, None, "ü"]}, '{"b":1,"a":[true,null,"ü"]}'),
    ("json", (1, 2.5), "[1,2.5]"),
    ("json", "text", '"text"'),
    ("json", 10**30, "1" + "0" * 30),
    ("json", {"x": Boxed(3)}, '{"x":3}'),
    ("json", "\\u0000", '"\\\\u0000"'),
]


@pytest.mark.parametrize(("kind", "value", "stored"), STORED)
def test_is_stored(kind, value, stored):
    result = encoder(kind)(value)
    assert (result, type(result)) == (stored, type(stored))
    if kind == "float":
        assert math.copysign(1, result) == math.copysign(1, stored)


WRONG = [
    ("string", 1), ("string", b"x"), ("string", ["a"]), ("int", True), ("int", 1.0), ("int", "1"), ("int", Boxed(1.0)),
    ("float", True), ("float", "1.5"), ("float", 1j), ("bool", 1), ("bool", "yes"), ("bool", Boxed(1)), ("timestamp", date(2024, 1, 1)),
    ("timestamp", "2024-01-01"), ("date", datetime(2024, 1, 1)), ("date", "2024-01-01"), ("uuid", str(UUID(int=1))),
    ("json", {1: 2}), ("json", {"a": {None: 1}}), ("json", {"a": object()}), ("json", datetime(2024, 1, 1)), ("json", {"a": {1, 2}}), ("json", b"x"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value"), WRONG)
def test_is_another_type(kind, value):
    with pytest.raises(WrongType, match="expected|keys") as told:
        encoder(kind)(value)
    assert len(str(told.value)) <= 200


REFUSED = [
    ("string", "a\0b", ValueError), ("string", "\ud800", ValueError), ("int", 2**63, OverflowError), ("int", -(2**63) - 1, OverflowError),
    ("int", 10**9999, OverflowError), ("float", math.inf, ValueError), ("float", math.nan, ValueError), ("float", 10**400, OverflowError),
    ("json", math.nan, ValueError), ("json", {"a": math.inf}, ValueError), ("json", {"a": "\0"}, ValueError), ("json", {"\0": 1}, ValueError),
    ("json", "\0", ValueError), ("json", ["\ud800"], ValueError), ("timestamp", datetime(1, 1, 1, tzinfo=SEVEN), OverflowError),
    ("json", 10**9999, ValueError),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "error"), REFUSED, ids=range(len(REFUSED)))
def test_cannot_be_stored(kind, value, error):
    with pytest.raises(error) as told:
        encoder(kind)(value)
    assert not isinstance(told.value, WrongType)


def test_a_json_value_that_holds_itself_is_refused():
    loop = {}
    loop["self"] = loop
    with pytest.raises((ValueError, RecursionError)):
        to_json(loop)


def test_what_is_stored_comes_back():
    for kind, value in [
        ("timestamp", datetime(2024, 1, 2, 3, 4, 5, 600, timezone.utc)),
        ("date", date(1, 1, 1)),
        ("uuid", UUID(int=2**128 - 1)),
        ("json", {"b": [1, 2.5, None], "a": "ü"}),
    ]:
        assert decoder(kind)(encoder(kind)(value)) == value
    assert decoder("string") is None and decoder("int") is None
