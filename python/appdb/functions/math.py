"""Functions of numbers, each also a method: `sqrt(area)` is `area.sqrt()`. An Int given for a Float is converted."""

from appdb._calls import Parameter
from appdb.functions._builtin import Namespace

_float = Namespace("math", "float")
_SELF = Parameter("self", "int", mode="positional_only")
_INT = Parameter("other", "int")

abs = _float.method("abs", "float")
ceil = _float.method("ceil", "float")
exp = _float.method("exp", "float")
floor = _float.method("floor", "float")
log = _float.method("log", "float")
log10 = _float.method("log10", "float")
pow = _float.method("pow", "float", Parameter("other", "float"))
round = _float.method("round", "float", Parameter("digits", "int", True, None))
sqrt = _float.method("sqrt", "float")
to_int = _float.method("to_int", "int")
bitwise_and = _float.function("bitwise_and", "int", _SELF, _INT)
bitwise_or = _float.function("bitwise_or", "int", _SELF, _INT)
bitwise_xor = _float.function("bitwise_xor", "int", _SELF, _INT)
to_float = _float.function("to_float", "float", _SELF)

FUNCTIONS = _float.functions
METHODS = FUNCTIONS

__getattr__ = _float.unknown
