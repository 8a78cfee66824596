"""Functions over the elements of a list in a Json value: `map(doc.tags, lambda tag: tag.name)`; also methods of it.

The given function is called once, while the file is read, with a placeholder for the element. If the value is not a
list, the result is null.
"""

from __future__ import annotations

import builtins

from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError
from appdb.declare.types import display
from appdb.expressions.expr import Expr, call, cast, item, lift
from appdb.functions._builtin import signature
from appdb.udfs.calls import has_columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from typing import Any as Json

FUNCTIONS = {}

# Printed names of the element, by nesting depth.
_LETTERS = ("x", "y", "z", "u", "v", "w")


class _Nesting:
    """The current nesting depth of functions over elements."""

    depth = 0


class _Mapping:
    """One of map, filter and sort. Over a Json value it gives an expression, over plain values it acts like Python's
    own."""

    __slots__ = ("name", "python", "parameters", "kind", "nullable", "build", "plain")
    is_method, is_property = True, False

    def __init__(self, python, build, plain):
        self.name = python.__name__
        self.python = python
        self.parameters, (self.kind, self.nullable) = signature(python)
        self.build = build
        self.plain = plain

    def __call__(self, *args, **kwargs):
        if Phase.running or not has_columns(args, kwargs):
            return self.plain(*args, **kwargs)
        return self.build(*args, **kwargs)

    def __repr__(self):
        return f"<function {self.name}>"


def _mapping(build, plain):
    """Declares a function over elements by its operation on a list, which only runs in a worker.

    `build` makes the expression of a call over columns, `plain` the result of a call over plain values.
    """

    def declare(python):
        made = FUNCTIONS[python.__name__] = _Mapping(python, build, plain)
        return made

    return declare


def _map(expr, fn):
    body, text = _body("map", fn)
    return _over("map", expr, body, text)


def _filter(expr, predicate):
    body, text = _body("filter", predicate)
    if body._kind not in ("bool", "json"):
        raise AppFileError(
            f"The function given to filter() gives {display(body._kind)}; it says which elements stay.",
            "Give it a comparison, for example filter(doc.tags, lambda tag: tag.name == 'a')",
        )
    return _over("filter", expr, body, text)


def _sort(expr, key=None, *, asc=True):
    if type(asc) is not bool:
        raise AppFileError("asc of sort() is True or False.", "Write asc=False for the largest first.")
    body, text = _body("sort", (lambda element: element) if key is None else key)
    if body._kind in ("json", "string", "int", "float", "bool", "timestamp", "date", "uuid"):
        kwargs = {} if asc else {"asc": lift(False)}
    else:
        raise AppFileError(f"{display(body._kind)} has no order to sort by.", "Give sort() a function of a part of it.")
    return _over("sort", expr, body, None if key is None else text, kwargs)


def _body(name, function):
    if not callable(function) or isinstance(function, Expr):
        raise AppFileError(
            f"{name}() takes a function of one element, not {function!r}.",
            f"Write for example {name}(doc.tags, lambda tag: tag.name)",
        )
    level = _Nesting.depth
    letter = _LETTERS[level] if level < len(_LETTERS) else f"x{level}"
    # While functions are nested, depths are negative and counted from outside; _placed converts them.
    element = item(-1 - level, letter)
    missing = None
    _Nesting.depth += 1
    try:
        result = function(element)
    except NameError as error:
        missing = error.name
    finally:
        _Nesting.depth -= 1
    if missing is not None:
        raise AppFileError(
            f"The function given to {name}() knows no '{missing}': a lambda cannot see the columns of its class.",
            f"Hand the column to it: lambda {letter}, {missing}={missing}: ...",
        )
    body = lift(result)
    return body, f"lambda {letter}: {body._text}"


def _over(name, expr, body, text, kwargs=None):
    source = lift(expr)
    if source._kind != "json":
        raise AppFileError(
            f"{name}() goes over the elements of a Json value; {source._text} is {display(source._kind)}.",
            "Convert it, or compute it in a function marked @udf.",
        )
    value = cast(body, "json") if name == "map" else body
    printed = ", ".join(
        [source._text, *([text] if text else []), *(f"{key}={one._text}" for key, one in (kwargs or {}).items())]
    )
    made = call(name, [source, value], "json", True, f"{name}({printed})", kwargs=kwargs)
    if _Nesting.depth == 0:
        made._node = _placed(made._node, 0)
    return made


def _placed(node, nesting):
    """Copies a tree and numbers each element by the depth of its function, seen from where it is read."""
    if isinstance(node, (list, tuple)):
        return [_placed(part, nesting) for part in node]
    if not isinstance(node, dict):
        return node
    if node.get("node") == "item" and node["depth"] < 0:
        return {**node, "depth": nesting + node["depth"]}
    if node.get("node") == "call" and node["fn"] in FUNCTIONS:
        source, body = node["args"]
        args = [_placed(source, nesting), _placed(body, nesting + 1)]
        return {**node, "args": args}
    return {key: _placed(part, nesting) for key, part in node.items()}


def _sorted(values, key=None, *, asc=True):
    return builtins.sorted(values, key=key, reverse=not asc)


@_mapping(_map, builtins.map)
def map(expr: Json | None, fn: Callable[[Any], Any]) -> Json | None:
    """The results of `fn` for each element; null if the value is not a list."""
    return [fn(element) for element in expr]


@_mapping(_filter, builtins.filter)
def filter(expr: Json | None, predicate: Callable[[Any], Any]) -> Json | None:
    """The elements for which `predicate` holds; null if the value is not a list."""
    return [element for element in expr if predicate(element)]


@_mapping(_sort, _sorted)
def sort(expr: Json | None, key: Callable[[Any], Any] | None = None, *, asc: bool = True) -> Json | None:
    """The elements sorted by their keys, nulls last (first if not `asc`); null if the value is not a list."""
    keyed = [(key(element), element) for element in expr]
    known = [pair for pair in keyed if pair[0] is not None]
    known.sort(key=lambda pair: pair[0], reverse=not asc)
    nulls = [element for value, element in keyed if value is None]
    # As in a query: nulls last, and first in descending order.
    return [element for _, element in known] + nulls if asc else nulls + [element for _, element in known]
