"""The column boundary: Python objects become the values that a column stores, and back.

A stored value travels in the engine's form (packages/contract/src/types.ts): text, bool, an int of 64 bits, a finite
float, ISO text for a Timestamp (UTC) or Date, hyphened text for a UUID, JSON text for Json, bytes for Binary, shape and
elements for an Array (_arrays.py), None for null.
"""

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1
_INFINITY = float("inf")


class WrongType(TypeError):
    """A value of another type than the column's."""


def encoder(type):
    """`type` is a manifest's type, or the kind of one without parameters.

    Returns the function from a Python object to the stored form.

    It raises WrongType for another type, ValueError or OverflowError for a value that the column cannot hold.
    """
    kind = type if isinstance(type, str) else type["kind"]
    if kind == "array":
        from appdb._arrays import array_encoder

        return array_encoder(type)
    return _ENCODERS[kind]()


def decoder(type):
    """`type` is a manifest's type, or the kind of one without parameters.

    Returns the function from the stored form to the Python object, or None where they are the same."""
    kind = type if isinstance(type, str) else type["kind"]
    if kind == "array":
        from appdb._arrays import array_decoder

        return array_decoder(type)
    return _DECODERS[kind]()


def array_reader(type):
    """Returns the function from the JSON text of an array to the Python object."""
    import json

    encode, decode = encoder(type), decoder(type)
    return lambda text: decode(encode(json.loads(text)))


def from_string(value):
    if type(value) is not str:
        if not isinstance(value, str):
            return from_string(_plain(value, "str"))
        value = str.__str__(value)
    if "\0" in value:
        raise ValueError("text holds a NUL character, which no column can store")
    if not value.isascii():
        _refuse_surrogates(value)
    return value


def from_int(value):
    if type(value) is not int:
        if type(value) is bool or not isinstance(value, int):
            return from_int(_plain(value, "int"))
        value = int.__index__(value)
    if INT_MIN <= value <= INT_MAX:
        return value
    raise OverflowError(f"{short_int(value)} does not fit an Int (64 bits)")


def from_float(value):
    if type(value) is not float:
        if type(value) is bool or not isinstance(value, (int, float)):
            return from_float(_plain(value, "float"))
        value = float(value)
    if -_INFINITY < value < _INFINITY:
        return value
    raise ValueError(f"{value} is no finite number; a Float holds finite numbers alone")


def from_bool(value):
    return value if type(value) is bool else from_bool(_plain(value, "bool"))


def to_json(value):
    """Returns the JSON text of a value: key order kept, keys text, numbers finite, None inside as null."""
    return _json_encoder()(value)


def from_binary(value):
    if type(value) is bytes:
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise _wrong(value, "bytes")


def _same():
    return None


def _timestamp_encoder():
    from datetime import datetime, timezone

    utc = timezone.utc

    def from_timestamp(value):
        if not isinstance(value, datetime):
            raise _wrong(value, "datetime")
        if value.tzinfo is None or value.utcoffset() is None:
            value = value.replace(tzinfo=utc)  # a time without a zone is UTC
        else:
            value = value.astimezone(utc)
        text = datetime.isoformat(value)
        return text[:-6] + "Z"

    return from_timestamp


def _timestamp_decoder():
    from datetime import datetime

    return datetime.fromisoformat


def _date_encoder():
    from datetime import date, datetime

    def from_date(value):
        if isinstance(value, date) and not isinstance(value, datetime):
            return date.isoformat(value)
        raise _wrong(value, "date")

    return from_date


def _date_decoder():
    from datetime import date

    return date.fromisoformat


def _uuid_encoder():
    from uuid import UUID

    def from_uuid(value):
        if isinstance(value, UUID):
            return UUID.__str__(value)
        raise _wrong(value, "UUID")

    return from_uuid


def _uuid_decoder():
    from uuid import UUID

    return UUID


def _json_encoder():
    import json

    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_json_item).encode

    def from_json(value):
        if type(value) in (dict, list, tuple):
            _check_json(value)
            return encode(value)
        if isinstance(value, str):
            return encode(from_string(value))
        text = encode(value)  # a number, a bool, or an object that _json_item refuses
        return None if text == "null" else text

    return from_json


def _json_decoder():
    import json

    return json.loads


def _check_json(value):
    """Refuses what the encoder would change without a word: keys that are no text, NUL, halves of characters."""
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("text inside the JSON value holds a NUL character, which no column can store")
        if not value.isascii():
            _refuse_surrogates(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise WrongType(f"a JSON object has text as keys; one key is {_type_name(key)}")
            _check_json(key)
            _check_json(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _check_json(item)


def _json_item(value):
    return _plain(value, "a JSON value (dict, list, str, int, float, bool)")


def _plain(value, wanted):
    """Takes a scalar of numpy and its like out of its box; raises WrongType for all else."""
    if hasattr(value, "dtype") and getattr(value, "ndim", None) == 0:
        inner = value.item()
        if type(inner) in (str, int, float, bool):
            return _fitting(inner, wanted, value)
    raise _wrong(value, wanted)


def _fitting(inner, wanted, value):
    number = wanted == "float" and type(inner) is int
    if number or type(inner).__name__ == wanted or wanted.startswith("a JSON"):
        return inner
    raise _wrong(value, wanted)


def _wrong(value, wanted):
    return WrongType(f"expected {wanted}, got {_type_name(value)}")


def _type_name(value):
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return "None" if value is None else name[:150]


def _refuse_surrogates(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("text holds half a character (a lone surrogate), which no column can store") from None


def short_int(value):
    """Prints an int for a message."""
    # Printing a very long int is slow, and refused by Python beyond 4300 digits.
    return str(value) if value.bit_length() < 400 else f"an int of {value.bit_length()} bits"


_ENCODERS = {
    "string": lambda: from_string,
    "int": lambda: from_int,
    "float": lambda: from_float,
    "bool": lambda: from_bool,
    "timestamp": _timestamp_encoder,
    "date": _date_encoder,
    "uuid": _uuid_encoder,
    "json": _json_encoder,
    "binary": lambda: from_binary,
}
_DECODERS = {
    "string": _same,
    "int": _same,
    "float": _same,
    "bool": _same,
    "timestamp": _timestamp_decoder,
    "date": _date_decoder,
    "uuid": _uuid_decoder,
    "json": _json_decoder,
    "binary": _same,
}
