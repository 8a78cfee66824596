"""Json types with a schema: converts `Json[{'a': Int}]` to a JSON Schema (draft 2020-12), and prints such a schema.

The printed form depends only on the schema, equal here and in packages/contract/src/display-json.ts.
"""

from appdb.declare.errors import AppFileError
from appdb.kinds import DISPLAY, rules
from appdb.kinds._base import ColumnType

_HOW = "Write for example db.Json[list[db.Int]], db.Json[{'a': db.String | None}] or db.Json.schema({...})."
_UNIONS = ("UnionType", "Union", "_UnionGenericAlias")


def json_schema(item):
    """Parses the brackets of Json. Raises AppFileError for anything that does not describe a JSON value."""
    if type(item).__name__ in _UNIONS:  # Whether the column is nullable is written outside the brackets.
        rest = [member for member in item.__args__ if member is not type(None)]
        item = rest[0] if len(rest) == 1 else item
    return _schema(item)


def given_schema(document):
    """Takes a JSON Schema unchanged. The engine compiles it and reports its errors."""
    from appdb.values import to_json

    if not isinstance(document, dict):
        raise AppFileError(f"db.Json.schema takes a JSON Schema as a dict, not {type(document).__name__}.", _HOW)
    try:
        text = to_json(document)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise AppFileError(f"The schema is not JSON: {error}.", "Use dict, list, text, numbers, True, False.") from None
    import json

    return json.loads(text)


def display_json(schema):
    """Prints a schema in the form of plans: `Json[{'a': Int}]`; `Json[...]` for one without a short form."""
    if not schema:
        return "Json"
    return f"Json[{_inner(schema) or '...'}]"


def _schema(item):
    from appdb.declare.types import python_kind
    from appdb.kinds.json import Json

    if isinstance(item, (list, tuple)):
        return _list(item)
    if isinstance(item, dict):
        return _object(item, ())
    if type(item).__name__ in _UNIONS:
        return _union(item)
    if isinstance(item, type) and issubclass(item, ColumnType):
        if issubclass(item, Json):
            return getattr(item.kind, "type", {}).get("schema", {})
        schema = rules(item.kind).json_schema
        if schema is not None:
            return dict(schema)
        raise AppFileError(f"A Json value cannot hold {item.__name__}.", "Use lists of numbers, text or base64 text.")
    name, origin = getattr(item, "_name", None), getattr(item, "__origin__", None)
    if getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly"):
        return _schema(item.__args__[0])
    if getattr(origin, "_name", None) == "Literal" or name == "Literal":
        return {"enum": list(item.__args__)}
    if origin is list or item is list:
        return _list((*getattr(item, "__args__", (Json,)), ...))
    if origin is tuple and item.__args__:
        return _list(item.__args__)
    if origin is dict:
        return _mapping(item)
    if hasattr(item, "__required_keys__"):
        return _object(_hints(item), item.__optional_keys__)
    if item is dict:
        return {"type": "object"}
    kind = python_kind(item)
    schema = None if kind is None else rules(kind).json_schema
    if schema is not None:
        return dict(schema)
    raise AppFileError(f"{item!r} does not describe a JSON value.", _HOW)


def _list(items):
    *first, last = items or (None,)
    if not items:
        return {"type": "array", "maxItems": 0}
    if last is not ... and isinstance(items, list) and not first:
        return {"type": "array", "items": _schema(last)}
    if last is ...:
        if not first:
            raise AppFileError("'...' repeats the type before it.", _HOW)
        *first, more = first
        schema = {"type": "array", "items": _schema(more)}
        return {**schema, "prefixItems": [_schema(item) for item in first], "minItems": len(first)} if first else schema
    if isinstance(items, list):
        raise AppFileError("A list in a Json schema holds one type, that of all elements.", _HOW)
    return {
        "type": "array",
        "prefixItems": [_schema(item) for item in items],
        "minItems": len(items),
        "maxItems": len(items),
    }


def _object(members, optional):
    for key in members:
        if not isinstance(key, str):
            raise AppFileError(f"The keys of a JSON object are text; one is {key!r}.", _HOW)
    return {
        "type": "object",
        "properties": {key: _schema(item) for key, item in members.items()},
        "required": [key for key in members if key not in optional],
        "additionalProperties": False,
    }


def _mapping(item):
    key, value = item.__args__
    if _schema(key) != {"type": "string"}:
        raise AppFileError("The keys of a JSON object are text.", "Write dict[str, ...].")
    schema = _schema(value)
    return {"type": "object", "additionalProperties": schema} if schema else {"type": "object"}


def _union(item):
    members = [_schema(member) for member in item.__args__ if member is not type(None)]
    is_nullable = len(members) < len(item.__args__)
    if {} in members:
        return {}
    if len(members) == 1 and is_nullable and isinstance(members[0].get("type"), str):
        return {**members[0], "type": [members[0]["type"], "null"]}
    return {"anyOf": [*members, {"type": "null"}] if is_nullable else members}


def _hints(typed_dict):
    from typing import get_type_hints

    try:
        return get_type_hints(typed_dict, include_extras=True)
    except NameError as error:
        raise AppFileError(
            f"{typed_dict.__name__} names '{error.name}', which its module does not have.", "Import it there."
        ) from None


def _part(schema):
    """Prints a nested schema; None for one without a short form."""
    if schema == {}:
        return "Json"
    if isinstance(schema, dict) and schema.keys() == {"anyOf"} and len(schema["anyOf"]) > 1:
        parts = ["None" if member == {"type": "null"} else _part(member) for member in schema["anyOf"]]
        return None if None in parts else " | ".join(parts)
    inner = _inner(schema)
    if inner is None or schema.get("type") not in ("array", "object", ["array", "null"], ["object", "null"]):
        return inner
    nullable = isinstance(schema["type"], list)
    return f"Json[{inner}] | None" if nullable else f"Json[{inner}]"


def _inner(schema):
    if not isinstance(schema, dict):
        return None
    keys, kind = schema.keys(), schema.get("type")
    if keys == {"anyOf"}:
        return _part(schema)
    if keys == {"enum"} and all(type(value) in (str, int, bool) for value in schema["enum"]):
        return f"Literal[{', '.join(map(_quoted, schema['enum']))}]"
    nullable = isinstance(kind, list) and len(kind) == 2 and kind[1] == "null"
    if nullable:
        kind = kind[0]
    if kind == "array":
        return _display_list(schema)
    if kind == "object":
        return _display_object(schema)
    plain = {**schema, "type": kind}
    name = next((DISPLAY[known] for known in DISPLAY if rules(known).json_schema == plain), None)
    return f"{name} | None" if name and nullable else name


def _display_list(schema):
    keys = schema.keys() - {"type"}
    if keys == {"maxItems"} and schema["maxItems"] == 0:
        return "()"
    parts = [_part(item) for item in [*schema.get("prefixItems", ()), *([schema["items"]] if "items" in keys else ())]]
    if None in parts or not parts:
        return None
    length = len(schema.get("prefixItems", ()))
    if keys == {"items"} or (keys == {"items", "prefixItems", "minItems"} and schema["minItems"] == length):
        return f"({', '.join(parts)}, ...)"
    if keys != {"prefixItems", "minItems", "maxItems"} or not schema["minItems"] == schema["maxItems"] == length:
        return None
    return f"({parts[0]},)" if length == 1 else f"({', '.join(parts)})"


def _display_object(schema):
    keys = schema.keys() - {"type"}
    if not keys:
        return "dict"
    if keys == {"additionalProperties"}:
        part = _part(schema["additionalProperties"])
        return part and f"dict[String, {part}]"
    if keys != {"properties", "required", "additionalProperties"} or schema["additionalProperties"] is not False:
        return None
    properties, required = schema["properties"], schema["required"]
    # In the order of JavaScript's sort.
    optional = sorted(properties.keys() - set(required), key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    parts = [(key, _part(properties.get(key))) for key in [*required, *optional]]
    if any(part is None for _, part in parts):
        return None
    text = f"{{{', '.join(f'{_quoted(key)}: {part}' for key, part in parts)}}}"
    return f"{text}, optional_keys=[{', '.join(map(_quoted, optional))}]" if optional else text


def _quoted(value):
    """A constant in single quotes, with the same escapes as in TypeScript."""
    if not isinstance(value, str):
        return str(value)
    text = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{text}'"
