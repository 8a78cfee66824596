"""Json: any JSON, with or without a JSON Schema."""

from appdb.kinds._base import ColumnType, Rules, as_it_is, parametrised, repr_of, same
from appdb.kinds.string import from_string, is_text_written
from appdb.values import WrongType, checked_float, checked_int, plain_scalar, refuse_surrogates, type_name

_PYTHON = "a JSON value (dict, list, str, int, float, bool)"


class Json(ColumnType):
    kind = "json"

    def __class_getitem__(cls, item):
        from appdb.declare.json_schema import json_schema

        return cls._of(json_schema(item))

    @classmethod
    def schema(cls, document):
        """A Json type whose values match a JSON Schema (draft 2020-12): `doc: db.Json.schema({"type": "object"})`."""
        from appdb.declare.json_schema import given_schema

        return cls._of(given_schema(document))

    @classmethod
    def _of(cls, schema):
        return parametrised(cls, {"kind": "json", "schema": schema}) if schema else cls


def _display(type):
    from appdb.declare.json_schema import display_json

    return display_json(type.get("schema"))


def json_encoder(_type=None):
    """Returns the function to JSON text: key order is kept, keys are text, numbers finite, None inside is null."""
    import json

    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_item).encode

    def from_json(value):
        if type(value) in (dict, list, tuple):
            _check(value)
            return encode(value)
        if isinstance(value, str):
            return encode(from_string(value))
        text = encode(value)  # A number, a bool, or an object that _item refuses.
        return None if text == "null" else text

    return from_json


def _decoder(_type):
    import json

    return json.loads


def _check(value):
    """Refuses values that the encoder would change silently: keys that are not text, NUL, lone surrogates."""
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("text inside the JSON value contains a NUL character, which no column can store")
        if not value.isascii():
            refuse_surrogates(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise WrongType(f"a JSON object has text as keys; one key is {type_name(key)}")
            _check(key)
            _check(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check(item)


def _item(value):
    return plain_scalar(value, _PYTHON)


def _text(value):
    return value if type(value) is str else json_encoder()(value)


def _only(*types):
    def convert(value):
        if type(value) in types:
            return value
        raise TypeError(f"the Json value is {_name(value)}, not {_name(types[0]())}")

    return convert


def _name(value):
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return names.get(type(value), "a number")


_number, _whole, _string = _only(float, int), _only(int), _only(str)


def _int(value):
    if type(value) is float and value.is_integer():
        value = int(value)
    return checked_int(_whole(value))


def _from_text(kind):
    def convert(value):
        from appdb.kinds import casting

        return casting("string", kind)(_string(value))

    return convert


RULES = Rules(
    python=_PYTHON,
    hints=(("builtins", "dict"), ("builtins", "list"), ("builtins", "tuple"), ("typing", "Any")),
    display=_display,
    lacks=None,
    encoder=json_encoder,
    decoder=_decoder,
    from_wire=None,
    to_literal=as_it_is,
    from_literal=as_it_is,
    is_shared=False,  # A function may change it.
    printed=repr_of,
    casts={
        "string": _text,
        "int": _int,
        "float": lambda value: checked_float(float(_number(value))),
        "bool": _only(bool),
        "timestamp": _from_text("timestamp"),
        "date": _from_text("date"),
        "uuid": _from_text("uuid"),
        "json": same,  # The engine checks the schema.
    },
    is_ordered=False,
    is_key=False,
    is_indexed=False,
    is_embedded=True,
    is_zoned=False,
    is_text_in_json=False,
    column=None,
    json_schema={},
    instead=None,
    check=None,
    is_written=is_text_written,
)
