"""Functions of Json values, each but `dumps` and `make_list` also a method: `len(doc.tags)` is `doc.tags.len()`."""

from appdb._calls import Parameter
from appdb.functions._aggregates import make_list
from appdb.functions._builtin import Namespace

_json = Namespace("json", "json")
_DOC = Parameter("self", "json", True, mode="positional_only")
_OTHER = Parameter("other", "json", True)
_VALUE = Parameter("value", "json")

concat = _json.function("concat", "json", _DOC, _OTHER, nullable=True)
contains = _json.method("contains", "bool", _VALUE)
count = _json.method("count", "int", _VALUE)
flatten = _json.method("flatten", "json")
get = _json.function(
    "get", "json", _DOC, Parameter("key", "string"), Parameter("default", "json", True, None), nullable=True
)
is_empty = _json.function("is_empty", "bool", _DOC)
items = _json.method("items", "json")
keys = _json.method("keys", "json")
len = _json.method("len", "int")
max = _json.method("max", "float", nullable=True)
mean = _json.method("mean", "float", nullable=True)
merge = _json.function("merge", "json", _DOC, _OTHER, nullable=True)
min = _json.method("min", "float", nullable=True)
sum = _json.method("sum", "float")
values = _json.method("values", "json")

METHODS = dict(_json.functions)

dumps = _json.function("dumps", "string", Parameter("obj", "json", mode="positional_only"))

FUNCTIONS = _json.functions
AGGREGATES = {"make_list": make_list}

__getattr__ = _json.unknown
