"""Finds queries in the body of a handler, which would run without a database.

A handler gets rows by calling a function marked @db.query. `Docs.select(...).collect()` would fail on the first
request; only the source shows it earlier.
"""

import sys

from appdb.appfile.sources import below
from appdb.declare import deferred
from appdb.declare.errors import AppFileError, later
from appdb.declare.views import refused_change
from appdb.udfs.signatures import innermost

_VERBS = frozenset(
    "where select order_by limit group_by join distinct sample head tail count collect show cursor".split()
)
_CHANGES = ("insert", "update", "delete")
_FUNCTIONS = ("FunctionDef", "AsyncFunctionDef")


def refuse_queries_in_handlers(routers, application, root):
    """Refuses a query, a change of a view, or a table by its path, in handlers of the project. Raises AppFileError."""
    handlers = [route.handler.function for _, router in routers for route in router._routes if route.handler]
    if application is not None:
        handlers += _endpoints(application[1]) + _hooks(application[1])
    by_file = {}
    for handler in handlers:
        function = innermost(handler)
        code = getattr(function, "__code__", None)
        if code is not None and below(root, code.co_filename):
            by_file.setdefault(code.co_filename, {})[function.__name__, code.co_firstlineno] = function
    for filename, functions in by_file.items():
        tree = deferred.parse(filename)
        for node in deferred.statements(tree) if tree is not None else ():
            if type(node).__name__ in _FUNCTIONS:
                line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                function = functions.get((node.name, line))
                for part in node.body if function is not None else ():
                    _refuse_in(part, function, filename)
                    if function is not None and type(node).__name__ == "AsyncFunctionDef":
                        _refuse_unawaited(part, function, filename)


def _endpoints(owner):
    """The functions of an application object, including mounted ones."""
    found = []
    for route in getattr(owner, "routes", None) or ():
        endpoint = getattr(route, "endpoint", None)
        # FastAPI keeps an included router whole, in a wrapper route.
        inner = getattr(route, "original_router", route)
        found += [endpoint] if endpoint is not None else _endpoints(inner)
    return found


def _hooks(application):
    """The startup and shutdown functions of an application object."""
    router = getattr(application, "router", None)
    hooks = [*(getattr(router, "on_startup", None) or ()), *(getattr(router, "on_shutdown", None) or ())]
    return [*hooks, getattr(router, "lifespan_context", None)]


def _refuse_in(part, function, filename):
    for node in deferred.walk(part):
        if type(node).__name__ != "Call":
            continue
        called = node.func
        if _is_get_table(called, function):
            hint = "Name the model: Docs.insert(...) in a handler; its rows are read by a function marked @db.query."
            raise AppFileError(later("appdb.get_table").detail, hint, (filename, node.lineno))
        if type(called).__name__ != "Attribute" or called.attr not in (*_VERBS, *_CHANGES):
            continue
        table = getattr(_resolved(called.value, function), "__dict__", {}).get("__appdb_table__")
        if table is None or called.attr in table.columns:
            continue
        if called.attr in _CHANGES:
            if table.view is not None:
                raise refused_change(table, f"{{}}.{called.attr}(...)", (filename, node.lineno))
            continue
        raise AppFileError(
            f"{table.model}.{called.attr}() begins a query, which the handler {function.__name__} cannot run.",
            "Write the query in a function marked @db.query; the handler calls that and gets its rows.",
            (filename, node.lineno),
        )


# Places where a value is used at once; elsewhere, as in asyncio.gather(...), it may be awaited later.
_USES = ("Expr", "Return", "Subscript", "Attribute", "For", "comprehension", "Compare", "BinOp", "FormattedValue")


def _refuse_unawaited(node, function, filename):
    """Refuses the use of an unawaited result of a query or a change of rows."""
    for field in node._fields:
        value = getattr(node, field, None)
        for item in value if isinstance(value, list) else (value,):
            if not hasattr(item, "_fields"):
                continue
            name = _asked(item, function) if type(node).__name__ in _USES else None
            if name is not None:
                raise AppFileError(
                    f"{name}() is not awaited in the handler {function.__name__}, which is an async def.",
                    f"Write await {name}(...), in parentheses where more follows.",
                    (filename, item.lineno),
                )
            _refuse_unawaited(item, function, filename)


def _asked(node, function):
    """The name of the query, or of the verb of a model, that a node calls; None for anything else."""
    if type(node).__name__ != "Call":
        return None
    called = node.func
    if type(_resolved(called, function)).__name__ == "NamedQuery":
        return called.id if type(called).__name__ == "Name" else called.attr
    if type(called).__name__ == "Attribute" and called.attr in _CHANGES:
        table = getattr(_resolved(called.value, function), "__dict__", {}).get("__appdb_table__")
        if table is not None and called.attr not in table.columns:
            return f"{table.model}.{called.attr}"
    return None


def _is_get_table(node, function):
    """Whether a node is the function get_table of the library, which may not be loaded yet."""
    if type(node).__name__ == "Attribute" and node.attr == "get_table":
        return getattr(_resolved(node.value, function), "__name__", None) == "appdb"
    found = _resolved(node, function)
    return getattr(found, "__module__", None) == "appdb.client.api" and found.__name__ == "get_table"


def _resolved(node, function):
    """The object of a name, or of a name in a module, in a function; None if it is only known at run time."""
    kind = type(node).__name__
    if kind == "Name":
        code = function.__code__
        is_local = node.id in code.co_varnames or node.id in code.co_cellvars or node.id in code.co_freevars
        return None if is_local else function.__globals__.get(node.id)
    if kind == "Attribute":
        owner = _resolved(node.value, function)
        if type(owner) is type(sys):
            return vars(owner).get(node.attr)
    return None
