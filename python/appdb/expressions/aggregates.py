"""Nodes of aggregates: the value of a group's rows, or, for a window, of the rows up to each row."""

from appdb.declare.errors import AppFileError
from appdb.declare.types import display
from appdb.expressions.expr import Expr
from appdb.kinds import rules

WINDOW_KEYS = ("order_by", "group_by")
_NODES = ("aggregate", "window")


def sort_keys(name, option, value):
    """The values to sort or group by: a column, or a list of them. Raises AppFileError for others."""
    keys = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    example = f"Write for example {name}(..., {option}=Docs.n)"
    if not keys:
        raise AppFileError(f"{name}() has an empty {option}=.", example)
    for key in keys:
        if not isinstance(key, Expr):
            raise AppFileError(f"{name}({option}=) takes columns, not {key!r}.", example)
        if not rules(key._kind).is_ordered:
            raise AppFileError(
                f"{name}({option}=) cannot sort by {key._text}, which is {display(key._kind)}.",
                "Name a column of numbers, texts or times.",
            )
    return keys


def aggregate(fn, text, result, positional, named=None, order=(), function=None):
    """An aggregate over the rows of a group, sorted by `order`. `result`: (kind, nullable)."""
    node = _node("aggregate", fn, function, positional, named or {})
    if order:
        node["order_by"] = [key._node for key in order]
    return _expr(node, text, result, positional, named or {}, order, function)


def window(fn, text, result, positional, named=None, order=(), group=(), function=None):
    """An aggregate over the rows of each group up to the row itself, sorted by `order`."""
    node = _node("window", fn, function, positional, named or {})
    node["group_by"] = [key._node for key in group]
    node["order_by"] = [key._node for key in order]
    return _expr(node, text, result, positional, named or {}, (*group, *order), function)


def printed_keys(**keys):
    """The arguments of a printed call: `["order_by=id"]`."""
    return [f"{option}={_keys_text(given)}" for option, given in keys.items() if given]


def _keys_text(keys):
    texts = ", ".join(key._text for key in keys)
    return texts if len(keys) == 1 else f"[{texts}]"


def is_aggregate(node):
    """Whether a node is the value of several rows."""
    return node.get("node") in _NODES


def _node(kind, fn, function, positional, named):
    return {
        "node": kind,
        "fn": fn,
        "is_udf": function is not None,
        "args": [arg._node for arg in positional],
        "kwargs": {name: arg._node for name, arg in named.items()},
    }


def _expr(node, text, result, positional, named, keys, function):
    kind, nullable = result
    return Expr(kind, nullable, node, text, parts=(*positional, *named.values(), *keys), function=function)
