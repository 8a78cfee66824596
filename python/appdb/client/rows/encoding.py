"""Rows as JSON, the form in which they are sent: one object a line."""

import datetime
import json
import math
import os
import uuid

from appdb.client.cells import File
from appdb.client.refusals import wrong_values
from appdb.declare.errors import Error
from appdb.kinds import rules
from appdb.values import INT_MAX, INT_MIN, encoder, short_int

#: Wrong values that an error names.
_SHOWN = 20


def json_bytes(document):
    """A document with values of rows in it, as JSON."""
    return _encode(document).encode()


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
    days = [name for name, ref in columns.items() if ref._kind == "date"]
    rows = iter(rows)
    for row in rows:
        number += 1
        if days:
            row = _with_days(row, days)
        try:
            _check_ints(row, ints)
            text = encode(row)
            data = text.encode()
        except (ValueError, TypeError, OverflowError, RecursionError):
            if is_frame:
                row = {name: None if type(v) is float and math.isnan(v) else v for name, v in row.items()}
            problems = _problems(row, number)
            if problems:
                raise _wrong(problems, rows, number) from None
            data = encode(row).encode()
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


def _check_ints(row, ints):
    for name in ints:
        value = row.get(name)
        if type(value) is int and not INT_MIN <= value <= INT_MAX:
            raise OverflowError


def _wrong(problems, rest, number):
    """The error of wrong values, with those of the rows behind them."""
    for row in rest:
        if len(problems) >= _SHOWN:
            break
        number += 1
        problems += _problems(row, number)
    fields = [{"pointer": f"/{problem.row - 1}/{problem.column}", "detail": problem.detail} for problem in problems[:_SHOWN]]
    return wrong_values(fields)


class _Problem:
    def __init__(self, row, column, detail):
        self.row, self.column, self.detail = row, column, detail


def _problems(row, number):
    found = []
    for name, value in row.items():
        detail = _problem(name, value)
        if detail is not None:
            found.append(_Problem(number, name, detail))
    return found


def _problem(name, value):
    if not isinstance(name, str):
        return "the name of a column is text"
    if type(value) is int and not INT_MIN <= value <= INT_MAX:
        return f"{short_int(value)} does not fit an Int (64 bits)"
    try:
        _encode(value).encode()
    except RecursionError:
        return "the value contains itself, or is nested too deep"
    except UnicodeEncodeError:
        return "text contains half a character, which no column can store"
    except (ValueError, TypeError, OverflowError) as error:
        if type(value) is float:
            return f"{value} is not a number that a column can store{'. Write None for null' if value != value else ''}"
        return str(error)
    return None


def _other(value):
    """The JSON form of a value that JSON has not."""
    if type(value) is datetime.datetime:
        return _timestamp(value)
    module = type(value).__module__.partition(".")[0]
    if module in ("datetime", "pandas", "uuid"):
        return _temporal(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        import base64

        return base64.b64encode(value).decode()
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, os.PathLike):
        raise TypeError(f"the path {os.fspath(value)} is for a media column")
    if module == "enum" or hasattr(value, "_value_"):
        return value.value
    if module == "decimal":
        return float(value)
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
