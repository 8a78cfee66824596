"""What `list_iterator` computes: a row for each object of a list, or for each place of several lists."""

from appdb.declare.errors import AppFileError
from appdb.declare.types import Kind, display
from appdb.expressions.expr import Expr, literal, shortened
from appdb.iterators.arguments import BadArgument, check_choice
from appdb.iterators.calls import Output
from appdb.iterators.declared import check_output_name
from appdb.kinds import DISPLAY, rules
from appdb.values import type_name

MODES = ("strict", "truncated", "padded")


def bind_lists(iterator, args, kwargs):
    """(positional, named, outputs) of a call: a list of objects, or lists by name."""
    name, mode, lists = iterator.name, kwargs.get("mode", "strict"), {k: v for k, v in kwargs.items() if k != "mode"}
    if len(args) > 1:
        raise AppFileError(f"{name}() takes one list by place; {len(args)} are given.", "Give the others by name.")
    if args and "elements" in lists:
        raise AppFileError(f"{name}() is given its argument 'elements' twice.", "Give it once.")
    elements = args[0] if args else lists.pop("elements", None)
    if (elements is None) == (not lists):
        raise AppFileError(
            f"{name}() takes a list of objects, or lists by name, not {'both' if lists else 'nothing'}.",
            f"Write {name}(column), or {name}(x=first, y=second).",
        )
    if isinstance(mode, Expr) or not isinstance(mode, str):
        raise AppFileError(f"{name}() takes a constant text as mode.", f"Use one of {', '.join(map(repr, MODES))}.")
    refused = None
    try:
        check_choice(name, "mode", mode, MODES)
    except BadArgument as error:
        refused = AppFileError(error.detail, error.hint)
    if refused is not None:
        raise refused
    if elements is not None:
        return (_list(name, elements),), {}, _members(name, elements)
    named = {key: _list(name, one) for key, one in lists.items()}
    outputs = [_output(name, key, _items(name, one), mode == "padded") for key, one in named.items()]
    return (), named if mode == "strict" else {**named, "mode": literal(mode)}, outputs


def rows_of_lists(elements, mode, lists):
    """The rows; values that a shorter list lacks are None where the mode is 'padded'."""
    check_choice("list_iterator", "mode", mode, MODES)
    if not lists:
        for one in _checked_list("elements", elements) or ():
            if not isinstance(one, dict):
                raise ValueError(f"list_iterator takes a list of objects; one is {type(one).__name__}")
            yield one
        return
    for key, one in lists.items():
        _checked_list(key, one)
    lengths = {key: len(one) for key, one in lists.items()}
    if mode == "strict" and len(set(lengths.values())) > 1:
        said = ", ".join(f"{key} has {length}" for key, length in lengths.items())
        raise ValueError(f"list_iterator takes lists of one length: {said}; use mode='truncated' or 'padded'")
    count = max(lengths.values()) if mode == "padded" else min(lengths.values())
    for at in range(count):
        yield {key: one[at] if at < len(one) else None for key, one in lists.items()}


def _checked_list(name, value):
    if value is not None and not isinstance(value, (list, tuple)):
        raise ValueError(f"list_iterator takes lists; {name} is {type_name(value)} {shortened(repr(value), 60)}")
    return value


def _list(name, value):
    if isinstance(value, Expr) and value._kind == "json":
        return value
    shown = f"{value._text} is {display(value._kind)}" if isinstance(value, Expr) else f"it is given {value!r}"
    detail = f"{name}() takes columns of lists; {shown[:160]}."
    raise AppFileError(detail, "Give it a column with the type db.Json[list[...]].")


def _items(name, value):
    """The schema of the elements of a typed list."""
    schema = getattr(value._kind, "type", {}).get("schema", {})
    items = schema.get("items")
    if schema.get("type") not in ("array", ["array", "null"]) or "prefixItems" in schema or items is None:
        raise AppFileError(
            f"{name}() needs to know what {value._text} holds; it is {display(value._kind)}.",
            f"Declare the list as db.Json[list[db.Int]], or write {value._text}.astype(db.Json[list[db.Int]]).",
        )
    return items


def _members(name, elements):
    """The outputs for the members of the objects of a list."""
    items = _items(name, elements) if getattr(elements._kind, "type", {}).get("schema") else {}
    members = items.get("properties")
    if items.get("type") != "object" or not members:
        raise AppFileError(
            f"{name}() takes a list of objects with known members; {elements._text} is {display(elements._kind)}.",
            "Declare the list as db.Json[list[{'a': db.Int}]], or give lists by name: "
            f"{name}(item={elements._text})",
        )
    required = items.get("required", ())
    return [_output(name, key, schema, key not in required) for key, schema in members.items()]


def _output(name, key, schema, is_nullable):
    check_output_name(key, f"{name}()")
    type = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(type, list) and len(type) == 2 and type[1] == "null":
        schema, is_nullable = {**schema, "type": type[0]}, True
    kind = next((one for one in DISPLAY if schema and rules(one).json_schema == schema), None)
    if kind is None:
        # A Json value of any type may be null.
        kind, is_nullable = (Kind({"kind": "json", "schema": schema}), is_nullable) if schema else ("json", True)
    return Output(key, kind, is_nullable)
