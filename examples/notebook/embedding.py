"""A small embedding that needs no model: texts with words in common have vectors that point the same way.

It stands where a real one would: a model of a library, or a provider's address. What makes an application search by
likeness is in app.py, and does not change with the function.
"""

import math
import zlib
from typing import TYPE_CHECKING

import appdb as db

if TYPE_CHECKING:
    Vector = list[float]  # for the editor: what the functions give
else:
    Vector = db.Array[(64,), db.Float]

_PLAIN = frozenset("a an and at by for from in is it of on or the to with".split())


def vector_of(text: str) -> list[float]:
    """64 numbers of length 1. Each word counts at a place, and with a sign, that its letters say."""
    numbers = [0.0] * 64
    for word in "".join(mark if mark.isalnum() else " " for mark in text.lower()).split():
        if word not in _PLAIN:
            place = zlib.crc32(word.removesuffix("s").encode())
            numbers[place % 64] += 1.0 if place & 64 else -1.0
    length = math.sqrt(sum(number * number for number in numbers))
    if length == 0:
        raise ValueError(f"{text!r} has no words that say something")
    return [number / length for number in numbers]


@db.udf
def embed(text: str) -> Vector:
    return vector_of(text)


@db.udf(batch_size=32)
def embed_many(batch: db.Batch[str]) -> db.Batch[Vector]:
    """Up to 32 texts at once, as models like it."""
    return [vector_of(text) for text in batch]
