"""Functions of arrays, each also a method: `to_list(embedding)` is `embedding.to_list()`.

An array is NumPy's if that is installed, otherwise nested lists.
"""

from __future__ import annotations

from appdb.functions._builtin import Namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Array

_array = Namespace("array")
function, FUNCTIONS = _array.function, _array.functions
__getattr__ = _array.unknown


@function([([[1.5, 2.0], [0.0, -1.0]], [[1.5, 2.0], [0.0, -1.0]])])
def to_list(self: Array, /) -> list:
    """The array as nested lists."""
    return self if type(self) is list else self.tolist()
