"""Functions that make and print UUIDs."""

import os
import time
from uuid import UUID, uuid4


class _Uuid7:
    """Makes version 7 UUIDs that grow within the process.

    48 bits of milliseconds, 12 of their fraction, 62 at random.
    """

    def __init__(self):
        self._last = 0

    def __call__(self):
        milliseconds, rest = divmod(time.time_ns(), 1_000_000)
        self._last = stamp = max(milliseconds << 12 | rest * 4096 // 1_000_000, self._last + 1)
        random = int.from_bytes(os.urandom(8), "big") >> 2
        return UUID(int=stamp >> 12 << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64 | 0b10 << 62 | random)


def _hex(value):
    return value.hex


FORMS = {
    "uuid4": uuid4,
    "uuid7": _Uuid7(),
    "hex": _hex,
    "to_string": UUID.__str__,
}
