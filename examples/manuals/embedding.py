"""An embedding without a model: texts with words in common have vectors that point the same way.

A real application asks a model of a library, or a provider's address. app.py does not change with the function.
"""

import math
import zlib
from typing import TYPE_CHECKING

import appdb as db

if TYPE_CHECKING:
    Vector = list[float]  # for the editor: what the function returns
else:
    Vector = db.Array[(64,), db.Float]

_PLAIN = frozenset("a an and at by each for from how i if in is it of on or the to with".split())


@db.udf(batch_size=32)
def embed(batch: db.Batch[str]) -> db.Batch[Vector]:
    return [_vector_of(text) for text in batch]


def _vector_of(text: str) -> list[float]:
    """64 numbers of length 1. Each word counts at a place, and with a sign, that its letters choose."""
    numbers = [0.0] * 64
    for word in "".join(mark if mark.isalnum() else " " for mark in text.lower()).split():
        if word not in _PLAIN:
            place = zlib.crc32(word.removesuffix("s").encode())
            numbers[place % 64] += 1.0 if place & 64 else -1.0
    length = math.sqrt(sum(number * number for number in numbers))
    return [number / length for number in numbers] if length > 0 else [1.0] + [0.0] * 63
