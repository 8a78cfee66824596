"""Functions that make UUIDs. In a model they are made once, at insert, and kept."""

from appdb._calls import Builtin

uuid4 = Builtin("uuid.uuid4", "uuid", ())
uuid7 = Builtin("uuid.uuid7", "uuid", ())

FUNCTIONS = {"uuid4": uuid4, "uuid7": uuid7}
