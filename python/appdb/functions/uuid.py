"""Functions that make and print UUIDs. In a model they run once, at insert, and the row keeps the value."""

from __future__ import annotations

from appdb.functions._builtin import Namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from uuid import UUID

_uuid = Namespace("uuid")
function, FUNCTIONS = _uuid.function, _uuid.functions
__getattr__ = _uuid.unknown


class _Uuid7:
    """The time of the last version 7 UUID of this process: UUIDs increase within it."""

    last = 0


@function([("0189dcf9-7e8b-7000-8000-00000000000f", "0189dcf97e8b7000800000000000000f")])
def hex(self: UUID, /) -> str:
    """The 32 hexadecimal digits of a UUID."""
    return self.hex


@function([("0189dcf9-7e8b-7000-8000-00000000000f", "0189dcf9-7e8b-7000-8000-00000000000f")])
def to_string(self: UUID, /) -> str:
    """A UUID in its usual form, with hyphens."""
    return str(self)


@function(is_method=False)
def uuid4() -> UUID:
    """A random UUID."""
    from uuid import uuid4

    return uuid4()


@function(is_method=False)
def uuid7() -> UUID:
    """A UUID that sorts by creation time."""
    from os import urandom
    from time import time_ns
    from uuid import UUID

    # 48 bits of milliseconds, 12 of their fraction, 62 random.
    milliseconds, rest = divmod(time_ns(), 1_000_000)
    _Uuid7.last = stamp = max(milliseconds << 12 | rest * 4096 // 1_000_000, _Uuid7.last + 1)
    random = int.from_bytes(urandom(8), "big") >> 2
    return UUID(int=stamp >> 12 << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64 | 0b10 << 62 | random)
