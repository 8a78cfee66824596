"""Functions of arrays, each also a method: `to_list(embedding)` is `embedding.to_list()`."""

from appdb.functions._builtin import Namespace

_array = Namespace("array", "array")

to_list = _array.method("to_list", "json")

FUNCTIONS = _array.functions
METHODS = FUNCTIONS

__getattr__ = _array.unknown
