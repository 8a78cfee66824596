"""Handler type hints: parses values from a URL's text or from JSON, and makes their JSON Schema.

Own code handles Python's own types; pydantic, if installed, handles the others.
"""

from appdb.declare.errors import nearest

_UNIONS = ("UnionType", "Union", "_UnionGenericAlias")
_INT64 = 1 << 63


class Misfit(ValueError):
    """An invalid value; `errors` are (pointer below the value, sentence)."""

    def __init__(self, detail, pointer=""):
        super().__init__(detail)
        self.errors = [(pointer, detail)]


class Unknown(TypeError):
    """A type hint that does not describe a value."""


class Kind:
    """Parses values of one type. `from_text` is None if a URL cannot hold it."""

    __slots__ = ("from_text", "from_json", "schema", "is_list", "nullable")

    def __init__(self, from_text, from_json, schema, is_list=False, nullable=False):
        self.from_text = from_text
        self.from_json = from_json
        self.schema = schema
        self.is_list = is_list
        self.nullable = nullable


def kind_of(hint):
    """The Kind of a type hint. Raises Unknown."""
    plain = _PLAIN.get(hint) if isinstance(hint, type) else None
    if plain is not None:
        return plain
    name, origin = type(hint).__name__, getattr(hint, "__origin__", None)
    if hint is None or hint is type(None):
        return Kind(None, _null, {"type": "null"}, nullable=True)
    if name in _UNIONS:
        return _union(hint)
    if getattr(hint, "_name", None) == "Any" or name == "_AnyMeta" or hint is object:
        return Kind(_same, _same, {})
    if hasattr(hint, "__metadata__"):  # Annotated: pydantic handles the metadata next to the type.
        from appdb.http.handler_pydantic import pydantic_kind

        return pydantic_kind(hint) or kind_of(origin)
    if hint is list or origin is list:
        return _list(kind_of(hint.__args__[0]) if origin is list else Kind(_same, _same, {}))
    if hint is dict or origin is dict:
        return _mapping(hint)
    if getattr(origin, "_name", None) == "Literal" or getattr(hint, "_name", None) == "Literal" or name == "_LiteralGenericAlias":
        return _literal(hint.__args__)
    if isinstance(hint, type):
        if hasattr(hint, "__dataclass_fields__") and not hasattr(hint, "__pydantic_fields__"):
            return _dataclass(hint)
        if hasattr(hint, "__required_keys__"):
            return _typed_dict(hint)
        named = _NAMED.get(f"{hint.__module__}.{hint.__qualname__}")
        if named is not None:
            return named(hint)
        if any(base.__module__ == "enum" and base.__name__ == "Enum" for base in hint.__mro__):
            return _enum(hint)
    from appdb.http.handler_pydantic import pydantic_kind

    found = pydantic_kind(hint)
    if found is None:
        raise Unknown(f"{getattr(hint, '__name__', hint)!s}")
    return found


def _same(value):
    return value


def _null(value):
    if value is None:
        return None
    raise Misfit("Expected null.")


def _text(value):
    if type(value) is str:
        return value
    raise Misfit(f"Expected a text, got {_shown(value)}.")


def _int_of_text(text):
    try:
        value = int(text) if text.isascii() and "_" not in text else None
    except ValueError:
        value = None
    if value is None:
        raise Misfit(f"Expected a whole number, got {_quoted(text)}.")
    return _checked_int(value)


def _int(value):
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is not int:
        raise Misfit(f"Expected a whole number, got {_shown(value)}.")
    return _checked_int(value)


def _checked_int(value):
    if -_INT64 <= value < _INT64:
        return value
    raise Misfit("The number is beyond 64 bits.")


def _float_of_text(text):
    try:
        value = float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        value = None
    if value is None or value != value or value in (float("inf"), float("-inf")):
        raise Misfit(f"Expected a number, got {_quoted(text)}.")
    return value


def _float(value):
    if type(value) in (int, float):
        try:
            return float(value)
        except OverflowError:
            pass
    raise Misfit(f"Expected a number, got {_shown(value)}.")


def _bool_of_text(text):
    word = text.strip().lower()
    if word in ("true", "1", "yes", "on"):
        return True
    if word in ("false", "0", "no", "off"):
        return False
    raise Misfit(f"Expected true or false, got {_quoted(text)}.")


def _bool(value):
    if type(value) is bool:
        return value
    raise Misfit(f"Expected true or false, got {_shown(value)}.")


def _parsed(parse, what, schema):
    """A Kind of values that are texts in JSON too."""

    def from_text(text):
        try:
            return parse(text)
        except (ValueError, ArithmeticError):
            raise Misfit(f"Expected {what}, got {_quoted(text)}.") from None

    return Kind(from_text, lambda value: from_text(_text(value)), schema)


def _timestamp(hint):
    return _parsed(hint.fromisoformat, "a time as in ISO 8601", {"type": "string", "format": "date-time"})


def _date(hint):
    return _parsed(hint.fromisoformat, "a date such as 2026-01-31", {"type": "string", "format": "date"})


def _uuid(hint):
    return _parsed(hint, "a UUID", {"type": "string", "format": "uuid"})


def _decimal(hint):
    def finite(text):
        value = hint(text)
        if not value.is_finite():
            raise ValueError
        return value

    kind = _parsed(finite, "a decimal number", {"type": "string", "format": "decimal"})

    def from_json(value):
        return kind.from_text(str(value)) if type(value) in (int, float) else kind.from_text(_text(value))

    return Kind(kind.from_text, from_json, {"type": ["string", "number"]})


def _literal(values):
    shown = ", ".join(_quoted(value) if isinstance(value, str) else str(value) for value in values)

    def from_json(value):
        for known in values:
            if known == value and type(known) is type(value):
                return known
        raise Misfit(f"Expected one of {shown}, got {_shown(value)}.")

    def from_text(text):
        for known in values:
            if (str(known) if type(known) is not bool else str(known).lower()) == text:
                return known
        raise Misfit(f"Expected one of {shown}, got {_quoted(text)}.")

    return Kind(from_text, from_json, {"enum": list(values)})


def _enum(hint):
    values = _literal(tuple(member.value for member in hint))
    return Kind(lambda text: hint(values.from_text(text)), lambda value: hint(values.from_json(value)), values.schema)


def _union(hint):
    members = [kind_of(member) for member in hint.__args__ if member is not type(None)]
    nullable = len(members) < len(hint.__args__)
    if len(members) == 1:
        member = members[0]
        schema = member.schema
        if isinstance(schema.get("type"), str):
            schema = {**schema, "type": [schema["type"], "null"]}
        elif schema:
            schema = {"anyOf": [schema, {"type": "null"}]}
        return Kind(
            member.from_text, lambda v: None if v is None else member.from_json(v), schema, member.is_list, True
        )

    def first(read):
        def from_any(value):
            if value is None and nullable:
                return None
            for member in members:
                try:
                    return getattr(member, read)(value)
                except Misfit:
                    continue
            raise Misfit(f"{_shown(value)} matches none of the accepted types.")

        return from_any

    texts = first("from_text") if all(member.from_text is not None for member in members) else None
    schemas = [member.schema for member in members] + ([{"type": "null"}] if nullable else [])
    return Kind(texts, first("from_json"), {"anyOf": schemas}, nullable=nullable)


def _list(item):
    def from_json(value):
        if type(value) is not list:
            raise Misfit(f"Expected a list, got {_shown(value)}.")
        return _each(enumerate(value), item.from_json)

    # The texts of a repeated URL parameter.
    from_text = None if item.from_text is None else (lambda texts: _each(enumerate(texts), item.from_text))
    return Kind(from_text, from_json, {"type": "array", "items": item.schema}, is_list=True)


def _each(pairs, read):
    found, misfit = [], None
    for place, value in pairs:
        try:
            found.append(read(value))
        except Misfit as error:
            misfit = _gathered(misfit, error, place)
    if misfit is not None:
        raise misfit
    return found


def _gathered(misfit, error, place):
    errors = [(f"/{escaped(place)}{pointer}", detail) for pointer, detail in error.errors]
    if misfit is None:
        misfit = Misfit("")
        misfit.errors = []
    misfit.errors.extend(errors)
    return misfit


def escaped(place):
    return str(place).replace("~", "~0").replace("/", "~1")


def _mapping(hint):
    arguments = getattr(hint, "__args__", None)
    item = kind_of(arguments[1]) if arguments else Kind(_same, _same, {})

    def from_json(value):
        _check_object(value)
        values = _each(value.items(), item.from_json)
        return dict(zip(value, values))

    schema = {"type": "object", "additionalProperties": item.schema} if item.schema else {"type": "object"}
    return Kind(None, from_json, schema)


def _dataclass(hint):
    from dataclasses import MISSING, fields
    from typing import get_type_hints

    hints = get_type_hints(hint, include_extras=True)
    members, required = {}, []
    for field in fields(hint):
        if field.init:
            members[field.name] = kind_of(hints[field.name])
            if field.default is MISSING and field.default_factory is MISSING:
                required.append(field.name)
    return _object(members, required, lambda values: hint(**values), hint.__name__)


def _typed_dict(hint):
    from typing import get_type_hints

    members = {name: kind_of(member) for name, member in get_type_hints(hint).items()}
    return _object(members, [name for name in members if name in hint.__required_keys__], dict, hint.__name__)


def _object(members, required, make, title):
    def from_json(value):
        _check_object(value)
        misfit, values = None, {}
        for name, given in value.items():
            try:
                if name not in members:
                    near = nearest(name, members)
                    known = f"Did you mean '{near}'?" if near else f"Known: {', '.join(members)}."
                    raise Misfit(f"{title} has no member '{name}'. {known}")
                values[name] = members[name].from_json(given)
            except Misfit as error:
                misfit = _gathered(misfit, error, name)
        for name in required:
            if name not in value:
                misfit = _gathered(misfit, Misfit(f"The member '{name}' is required."), name)
        if misfit is not None:
            raise misfit
        try:
            return make(values)
        except ValueError as error:  # A dataclass that validates itself.
            raise Misfit(str(error) or f"Expected a {title}.") from None

    return Kind(
        None,
        from_json,
        {
            "type": "object",
            "title": title,
            "properties": {name: member.schema for name, member in members.items()},
            "required": required,
            "additionalProperties": False,
        },
    )


def _check_object(value):
    if type(value) is not dict:
        raise Misfit(f"Expected an object, got {_shown(value)}.")


def _shown(value):
    names = {str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _quoted(text):
    return '"' + (text if len(text) <= 60 else text[:57] + "...") + '"'


_PLAIN = {
    str: Kind(_same, _text, {"type": "string"}),
    int: Kind(_int_of_text, _int, {"type": "integer", "format": "int64"}),
    float: Kind(_float_of_text, _float, {"type": "number", "format": "double"}),
    bool: Kind(_bool_of_text, _bool, {"type": "boolean"}),
}
_NAMED = {
    "datetime.datetime": _timestamp,
    "datetime.date": _date,
    "uuid.UUID": _uuid,
    "decimal.Decimal": _decimal,
}
