"""Rows as JSON, the form in which they are sent: one object a line."""

import base64
import datetime
import json
import math
import os
import uuid

from appdb.client.cells import File
from appdb.client.refusals import wrong_values
from appdb.client.rows.arrow_values import Unfit
from appdb.client.rows.frames import is_json
from appdb.client.rows.exact_numbers import JsonNumber, changed_number, decimal_json, has_exact, number_json, short_number, with_exact
from appdb.declare.errors import Error
from appdb.kinds import DISPLAY, rules
from appdb.values import INT_MAX, INT_MIN, encoder, short_int

#: Wrong values that an error names.
_SHOWN = 20
#: The form of columns of bytes (column_forms.py).
_BYTES = "bytes"


def json_bytes(document):
    """A document with values of rows in it, as JSON."""
    return with_exact(_encode(document)).encode()


def column_json(values, ref):
    """Values of one column as JSON, b"" for null. Raises ValueError for a value that JSON or the column would change."""
    texts = ["" if value is None else _encode(value) for value in values]
    for value in values:
        _check_keys(value)
    if not any(map(has_exact, texts)):
        return [text.encode() for text in texts]
    if ref is None or any(_changed(value, ref) is not None for value in values):
        raise ValueError("A number would change.")
    return [with_exact(text).encode() for text in texts]


def _encoder():
    """The function to JSON text. It is made once, because json.JSONEncoder makes one for each call."""
    if json.encoder.c_make_encoder is None:
        return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_other).encode
    quote = json.encoder.encode_basestring
    pieces = json.encoder.c_make_encoder(None, _other, quote, None, ":", ",", False, False, False)
    return lambda value: "".join(pieces(value, 0))


def encoded_rows(rows, columns, is_frame, counted, number=0):
    """Yields each row as JSON bytes. Raises Error that names the first wrong values by row and column.

    `is_frame`: a NaN means null. `counted` is called with the number of rows so far, which begins at `number`.
    """
    encode = _encode
    ints = [name for name, ref in columns.items() if ref._kind == "int"]
    binary = [name for name, ref in columns.items() if rules(ref._kind).column == _BYTES]
    days = [name for name, ref in columns.items() if ref._kind == "date"]
    objects = [name for name, ref in columns.items() if is_json(ref._kind)]
    rows = iter(rows)
    for row in rows:
        number += 1
        if days:
            row = _with_days(row, days)
        try:
            _check_ints(row, ints)
            text = encode(_with_base64(row, binary) if binary else row)
            for name in objects:
                _check_keys(row.get(name))
            if has_exact(text):
                _check_exact(row, columns)
                text = with_exact(text)
            data = text.encode()
        except (ValueError, TypeError, OverflowError, RecursionError):
            if is_frame:
                row = {name: None if type(v) is float and math.isnan(v) else v for name, v in row.items()}
            problems = _problems(row, number, columns)
            if problems:
                raise _wrong(problems, rows, number, columns, is_frame) from None
            data = with_exact(encode(_with_base64(row, binary))).encode()
        yield data
        counted(number)


def _with_days(row, names):
    """A row whose midnights without a zone are days: pandas has no other type for days."""
    found = {}
    for name in names:
        value = row.get(name)
        if isinstance(value, datetime.datetime) and value.tzinfo is None and value == value:
            day = value.date()
            if value == datetime.datetime(day.year, day.month, day.day):
                found[name] = day
    return {**row, **found} if found else row


def _with_base64(row, names):
    """A row whose bytes are texts. Raises ValueError for another text than one of a file."""
    found = {}
    for name in names:
        value = row.get(name)
        if type(value) is str:
            raise ValueError
        if isinstance(value, (bytes, bytearray, memoryview)):
            found[name] = base64.b64encode(value).decode()
    return {**row, **found} if found else row


def _check_ints(row, ints):
    for name in ints:
        value = row.get(name)
        if type(value) is int and not INT_MIN <= value <= INT_MAX:
            raise OverflowError


def _check_keys(value):
    """Raises ValueError for a dict with a key that JSON would make a text."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"a dict has the key {key!r:.60}, and JSON has texts as keys. Write str(key)")
            if isinstance(item, (dict, list, tuple)):
                _check_keys(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            if isinstance(item, (dict, list, tuple)):
                _check_keys(item)


def _check_exact(row, columns):
    if any(_changed(value, columns.get(name)) is not None for name, value in row.items()):
        raise ValueError("A number would change.")


def _changed(value, ref):
    """A number of a value that the column would change, which a Float or an array of them does."""
    return changed_number(value) if ref is not None and ref._kind in ("float", "array") else None


def _wrong(problems, rest, number, columns, is_frame):
    """The error of wrong values, with those of the rows behind them."""
    for row in rest:
        if len(problems) >= _SHOWN:
            break
        number += 1
        problems += _problems(row, number, columns, is_frame)
    fields = [{"pointer": f"/{problem.row - 1}/{problem.column}", "detail": problem.detail} for problem in problems[:_SHOWN]]
    return wrong_values(fields)


class _Problem:
    def __init__(self, row, column, detail):
        self.row, self.column, self.detail = row, column, detail


def _problems(row, number, columns, is_frame=False):
    found = []
    for name, value in row.items():
        if is_frame and type(value) is float and math.isnan(value):
            continue
        detail = _problem(name, value, columns.get(name))
        if detail is not None:
            found.append(_Problem(number, name, detail))
    return found


def _problem(name, value, ref):
    if not isinstance(name, str):
        return "the name of a column is text"
    if type(value) is int and not INT_MIN <= value <= INT_MAX:
        return f"{short_int(value)} does not fit an Int (64 bits)"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes_problem(ref)
    changed = _changed(value, ref)
    if changed is not None:
        return f"{short_number(changed)} has more digits than a Float keeps. Round it, or store str(value) in a String column"
    if type(value) is str and ref is not None and rules(ref._kind).column == _BYTES:
        return "expected bytes, got str. Encode the text: value.encode()"
    try:
        _encode(value).encode()
        _check_keys(value)
    except RecursionError:
        return "the value contains itself, or is nested too deep"
    except UnicodeEncodeError:
        return "text contains half a character, which no column can store"
    except (ValueError, TypeError, OverflowError) as error:
        if type(value) is float:
            return f"{value} is not a number that a column can store{'. Write None for null' if value != value else ''}"
        if isinstance(error, ValueError) and "JSON compliant" in str(error):
            return "the value has NaN or an infinite number inside, which JSON lacks. Write None for null"
        return str(error)
    return None


def _bytes_problem(ref):
    """Bytes have several forms as text. The program chooses one."""
    if ref is None:
        return "the table has no such column"
    if rules(ref._kind).column == _BYTES:
        return None
    return f"bytes are stored in Binary columns only, and this is {DISPLAY[ref._kind]}. Decode them: value.decode()"


def _other(value):
    """The JSON form of a value that JSON has not."""
    if type(value) is datetime.datetime:
        return _timestamp(value)
    module = type(value).__module__.partition(".")[0]
    if module in ("datetime", "pandas", "uuid"):
        return _temporal(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError("the value has bytes inside, which JSON lacks. Decode them: value.decode()")
    if isinstance(value, Unfit):
        raise TypeError(value.reason)
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, os.PathLike):
        raise TypeError(f"the path {os.fspath(value)} is for a media column")
    if module == "enum" or hasattr(value, "_value_"):
        return value.value
    if module == "decimal":
        return decimal_json(value)
    if isinstance(value, JsonNumber):
        return number_json(value)
    raise TypeError(f"a {type(value).__name__} cannot be stored")


def _temporal(value):
    if type(value).__name__ in ("NaTType", "NAType") or value != value:
        return None
    if isinstance(value, datetime.datetime):
        return _timestamp(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    raise TypeError(f"a {type(value).__name__} cannot be stored")


def media_columns(columns):
    """The names of the columns with files."""
    return [name for name, ref in columns.items() if rules(ref._kind).check is not None]


def is_address(value):
    """Whether a value of a media column is an address, which is sent as it is."""
    return isinstance(value, str) and ("://" in value or value.startswith("data:"))


def local_file(value, folder):
    """The path of the local file that a value of a media column means; None for null and for an address."""
    if value is None or is_address(value):
        return None
    if type(value) is File:
        return value.path
    if isinstance(value, (str, os.PathLike)):
        return os.path.expanduser(os.fspath(value))
    if type(value).__module__.partition(".")[0] == "PIL":
        return _written(value, folder)
    raise Error(
        f"A file is a path, an address or a PIL.Image.Image, not {type(value).__name__}.",
        'Write the path of the file: {"picture": "holiday.jpg"}',
    )


def _written(image, folder):
    """Writes an image into a folder; returns the path."""
    import tempfile

    from appdb.kinds.image import format_of

    kind = format_of(image)
    descriptor, path = tempfile.mkstemp(suffix=f".{kind}", dir=folder)
    os.close(descriptor)
    image.save(path, kind)
    return path


_timestamp = encoder("timestamp")
_encode = _encoder()
