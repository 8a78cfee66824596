"""Functions that make and print UUIDs. In a model they are made once, at insert, and kept."""

from appdb.functions._builtin import Namespace

_uuid = Namespace("uuid", "uuid")

hex = _uuid.method("hex", "string")
to_string = _uuid.method("to_string", "string")

METHODS = dict(_uuid.functions)

uuid4 = _uuid.function("uuid4", "uuid")
uuid7 = _uuid.function("uuid7", "uuid")

FUNCTIONS = _uuid.functions

__getattr__ = _uuid.unknown
