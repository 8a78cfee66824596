"""Dict and list literals: Json constants, or Json values with columns inside."""

from appdb.declare.constants import literal_value, plain
from appdb.declare.errors import AppFileError
from appdb.expressions import expr
from appdb.expressions.printing import ATOM


def composed(value):
    """Returns the Json expression of a dict, list or tuple. Raises AppFileError for what JSON cannot hold."""
    try:
        return _composed(value) if _has_columns(value) else _constant(value)
    except RecursionError:
        raise AppFileError("A dict or list contains itself, or is nested too deep.", "Make it flatter.") from None


def json_constant(value):
    """Makes a constant Json value from JSON types; None inside is JSON's null."""
    from appdb.values import to_json

    try:
        wire = to_json(value)
    except (TypeError, ValueError) as error:
        raise AppFileError(
            f"{expr.shortened(repr(value))} is not a JSON value: {error}.",
            "Use dict, list, str, numbers, True, False, None.",
        ) from None
    return expr.Expr("json", False, {"node": "literal", "value": wire}, repr(value))


def json_of(literal):
    """Converts a constant of another type to a Json constant next to Json values; its printed form stays."""
    from appdb.values import to_json

    value = literal._node["value"]
    if value is None:
        return expr.null("json")
    wire = value if literal._kind == "int" else to_json(value)
    return expr.Expr("json", False, {"node": "literal", "value": wire}, literal._text, literal._binds)


def _constant(value):
    return json_constant(_plain(value))


def _composed(value):
    if isinstance(value, dict):
        keys = [_key(key) for key in value]
        parts = [_part(item) for item in value.values()]
        node = {"node": "dict", "entries": [{"key": k, "value": part._node} for k, part in zip(keys, parts)]}
        text = ", ".join(f"{key!r}: {part._text}" for key, part in zip(keys, parts))
        return expr.Expr("json", False, node, f"{{{text}}}", ATOM, parts)
    parts = [_part(item) for item in value]
    node = {"node": "list", "items": [part._node for part in parts]}
    return expr.Expr("json", False, node, f"[{', '.join(part._text for part in parts)}]", ATOM, parts)


def _part(value):
    if isinstance(value, expr.Expr):
        return expr.cast(value, "json")
    if value is None:
        return expr.null("json")
    return composed(value) if isinstance(value, (dict, list, tuple)) else _constant(value)


def _has_columns(value):
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return isinstance(value, expr.Expr)
    return any(map(_has_columns, value))


def _key(key):
    if not isinstance(key, str):
        raise AppFileError(
            f"A dict that becomes a Json value has text as keys, not {expr.shortened(repr(key))}.",
            f"Write {str(key)!r} in quotes." if isinstance(key, (int, float)) else "Use text.",
        )
    literal_value(plain(key))
    return plain(key)


def _plain(value):
    """The constant with dates, times and UUIDs as their text in a Json value."""
    if isinstance(value, dict):
        return {_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if type(value).__module__ in ("datetime", "uuid"):
        kind, wire = literal_value(value)
        return wire
    return plain(value)
