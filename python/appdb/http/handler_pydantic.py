"""Handler type hints for pydantic, if installed: its models, and other types that it supports."""

import sys

from appdb.http.handler_kinds import Kind, Misfit, escaped


def pydantic_kind(hint):
    """A Kind by pydantic's own rules; None when it is not installed or does not support the type either."""
    if "pydantic" not in sys.modules:
        try:
            import pydantic  # noqa: F401
        except ImportError:
            return None
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

    try:
        adapter = TypeAdapter(hint)
        schema = _inlined(adapter.json_schema(mode="validation"))
    except (PydanticSchemaGenerationError, PydanticUserError):
        return None

    def read(value):
        try:
            return adapter.validate_python(value)
        except ValidationError as error:
            misfit = Misfit("")
            misfit.errors = [
                ("".join(f"/{escaped(part)}" for part in one["loc"]), one["msg"])
                for one in error.errors(include_url=False, include_context=False, include_input=False)
            ]
            raise misfit from None

    is_scalar = schema.get("type") in ("string", "integer", "number", "boolean") or "enum" in schema
    is_list = schema.get("type") == "array"
    return Kind(read if is_scalar or is_list else None, read, schema, is_list=is_list)


def _inlined(schema):
    """A schema without internal references, as part of a larger document. A recursive model is any object."""
    definitions = schema.get("$defs", {})

    def walk(node, open_names):
        if isinstance(node, list):
            return [walk(item, open_names) for item in node]
        if not isinstance(node, dict):
            return node
        name = node.get("$ref", "").removeprefix("#/$defs/") if isinstance(node.get("$ref"), str) else ""
        if name in definitions:
            if name in open_names:
                return {"type": "object"}
            rest = {key: value for key, value in node.items() if key != "$ref"}
            return {**walk(definitions[name], (*open_names, name)), **walk(rest, open_names)}
        return {key: walk(value, open_names) for key, value in node.items() if key != "$defs"}

    return walk(schema, ())
