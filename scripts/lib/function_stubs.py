"""Stubs (.pyi) of appdb.functions, generated from the declarations: parameters, results and docs of each function."""

import importlib

from appdb.udfs.calls import NO_DEFAULT
from appdb.declare.types import DISPLAY
from appdb.functions import _AT_TOP, _NAMESPACES, _TOP
from appdb.functions._aggregates import AGGREGATES, Aggregate
from appdb.functions.lists import FUNCTIONS as LISTS
from stub_text import GENERATED, definition

# Types of an argument: a column, or a plain Python value. Anything, where plain values have no literal.
ALIASES = {
    "string": ("Text", "Expr | str | None"),
    "int": ("Whole", "Expr | int | None"),
    "float": ("Number", "Expr | float | None"),
    "bool": ("Truth", "Expr | bool | None"),
}
VARARGS, VARKEYWORDS = 0x04, 0x08


def function_stubs():
    """Returns the stubs by their path below python/appdb/functions."""
    stubs = {f"{namespace}.pyi": namespace_stub(namespace) for namespace in _NAMESPACES}
    return {"__init__.pyi": front_stub(), "_aggregates.pyi": aggregates_stub(), "lists.pyi": lists_stub()} | stubs


def front_stub():
    """Names that need no namespace."""
    homes = {}
    for namespace in _AT_TOP:
        for name in importlib.import_module(f"appdb.functions.{namespace}").FUNCTIONS:
            if name not in _TOP:
                homes.setdefault(namespace, []).append(name)
    for name, home in _TOP.items():
        homes.setdefault(home, []).append(name)
    lines = [f"from . import {', '.join(f'{name} as {name}' for name in sorted(_NAMESPACES))}"]
    for home in sorted(homes):
        names = [f"{name} as {name}" for name in sorted(homes[home])]
        line = f"from .{home} import {', '.join(names)}"
        if len(line) > 120:
            line = "\n".join([f"from .{home} import (", *(f"    {name}," for name in names), ")"])
        lines.append(line)
    return "\n".join([f"# {GENERATED}", *lines]) + "\n"


def namespace_stub(namespace):
    module = importlib.import_module(f"appdb.functions.{namespace}")
    functions = module.FUNCTIONS.values()
    again = [name for name, value in vars(module).items() if isinstance(value, Aggregate)]
    namespaced = module.function.__self__
    aggregates = [getattr(module, name) for name in namespaced.aggregates]
    iterators = [getattr(module, name) for name in namespaced.iterators]
    typed = [*functions, *iterators]
    aliases = [ALIASES[kind] for kind in ALIASES if any(p.kind == kind for one in typed for p in one.parameters)]
    results = {DISPLAY[one.kind] for one in functions} | {DISPLAY[one.result[0]] for one in aggregates}
    return stub_of(
        module,
        results | ({"Expr"} if aliases else set()),
        [f"from ._aggregates import {name} as {name}" for name in again],
        [f"{name} = {hint}" for name, hint in aliases],
        [*map(function_stub, functions), *map(aggregate_stub, aggregates), *map(iterator_stub, iterators)],
    )


def aggregate_stub(one):
    first = [("order_key", "Any", NO_DEFAULT, "positional_only")] if one.requires_order_by else []
    parameters = first + [(p.name, ALIASES.get(p.kind, ("Any",))[0], p.default, p.mode) for p in one.parameters]
    return definition(one.__name__, parameters, DISPLAY[one.result[0]], one.__doc__)


def iterator_stub(one):
    """An iterator: over columns it gives what `iterator=` of a model takes, over plain values an iterator of rows."""
    code = one.python.__code__
    parameters = [(p.name, ALIASES.get(p.kind, ("Any",))[0], p.default, p.mode) for p in one.parameters]
    if code.co_flags & VARKEYWORDS:
        parameters.append((f"**{code.co_varnames[code.co_argcount + code.co_kwonlyargcount]}", "Any", NO_DEFAULT, "rest"))
    return definition(one.name, parameters, "Any", one.__doc__)


def lists_stub():
    module = importlib.import_module("appdb.functions.lists")
    defs = []
    for one in LISTS.values():
        hints = one.python.__annotations__
        parameters = [
            (p.name, "Any" if p.kind == "json" else hints[p.name], p.default, p.mode) for p in one.parameters
        ]
        defs.append(definition(one.name, parameters, DISPLAY[one.kind], one.python.__doc__))
    return stub_of(module, {"Json"}, [], [], defs, ["from collections.abc import Callable"])


def aggregates_stub():
    module = importlib.import_module("appdb.functions._aggregates")
    defs = []
    for one in AGGREGATES.values():
        default = ... if one.name == "count" else NO_DEFAULT
        result = "Any" if one.result is None else DISPLAY[one.result]
        keys = ("order_by",) if one.is_list else ("order_by", "group_by")
        parameters = [("expr", "Any", default, "positional_only"), *((key, "Any", None, "keyword_only") for key in keys)]
        defs.append(definition(one.name, parameters, result))
    results = {DISPLAY[one.result] for one in AGGREGATES.values() if one.result is not None}
    return stub_of(module, results, [], [], defs, table="AGGREGATES")


def stub_of(module, names, imports, aliases, defs, standard=(), table="FUNCTIONS"):
    """Parts of a stub: imports, type aliases and functions."""
    first = module.__doc__.partition("\n")[0]
    parts = [
        [f"# {GENERATED}", f'"""{first}"""'],
        [*standard, "from typing import Any"],
        [f"from appdb import {', '.join(sorted(names))}"],
        imports,
        aliases,
        [f"{table}: dict[str, Any]"],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n\n" + spaced(defs)


def spaced(defs):
    """Joins the functions, with an empty line around those with docs."""
    text = defs[0]
    for before, one in zip(defs, defs[1:]):
        text += one if before.endswith("...\n") and one.endswith("...\n") else f"\n{one}"
    return text


def function_stub(one):
    code, hints = one.python.__code__, one.python.__annotations__
    parameters = [(p.name, ALIASES.get(p.kind, ("Any",))[0], p.default, p.mode) for p in one.parameters]
    rest = list(code.co_varnames[code.co_argcount + code.co_kwonlyargcount :])
    if code.co_flags & VARARGS:
        name = rest.pop(0)
        parameters.append((f"*{name}", hints[name], NO_DEFAULT, "rest"))
    if code.co_flags & VARKEYWORDS:
        name = rest.pop(0)
        parameters.append((f"**{name}", hints[name], NO_DEFAULT, "rest"))
    return definition(one.name, parameters, DISPLAY[one.kind], one.python.__doc__)
