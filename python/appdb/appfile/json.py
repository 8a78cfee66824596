"""The manifest's JSON text, without the module `json`, whose imports `re` and `enum` take longest."""

try:
    from _json import encode_basestring_ascii, make_encoder  # The functions of the module json.
except ImportError:  # A Python without the compiled versions.
    make_encoder = None


def dumps(document):
    """Writes a document of dicts, lists, strings, numbers, booleans and None as one line of ASCII.

    Raises ValueError for NaN and infinities, which JSON does not support.
    """
    if make_encoder is None:
        import json

        return json.dumps(document, separators=(",", ":"), allow_nan=False)
    encode = make_encoder(None, _refuse, encode_basestring_ascii, None, ":", ",", False, False, False)
    return "".join(encode(document, 0))


def _refuse(value):
    raise TypeError(f"a manifest holds no {type(value).__name__}")
