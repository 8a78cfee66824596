"""The formats of files of rows, and rows of JSON and JSON lines files. Errors name the line."""

import json
import os

from appdb.client.rows.csv_files import encoding_of, line_error, not_text
from appdb.client.rows.exact_numbers import json_number
from appdb.client.rows.row_formats import ENDINGS, MARKS
from appdb.declare.errors import Error

_DEEP = "has a value that is nested too deep"
_TEXTS = ("csv", "json", "jsonl")
_NAMES = {"parquet": "a Parquet file", "workbook": "an Excel file or another archive"}
#: The ending that a file of these formats needs.
_NEEDED = {"parquet": ".parquet", "workbook": ".xlsx"}


def format_of(path):
    """The format of a file, by the ending of its name, otherwise by its content, as `cli insert` reads it. Raises Error."""
    known = ENDINGS.get(os.path.splitext(path)[1].lower())
    if known not in (None, *_TEXTS):
        return known
    marked = _mark(path)
    if marked == "gzip":
        raise Error(f"{path} is packed by gzip, which the library does not unpack.", f"Unpack it: gunzip -c {path} > rows.csv")
    if marked is None:
        return known or _text_format(path)
    if known is None:
        return marked
    raise Error(f"{path} is {_NAMES[marked]}.", f"Name it with the ending {_NEEDED[marked]}.")


def _mark(path):
    """The format that the first bytes of a file name."""
    with open(path, "rb") as file:
        head = file.read(max(map(len, MARKS)))
    return next((format for mark, format in MARKS.items() if head.startswith(mark)), None)


def _text_format(path):
    """JSON lines for an object or an array, otherwise CSV."""
    first = ""
    with open(path, encoding=_encoding(path)) as file:
        for line in _text_lines(path, iter(file.readline, "")):
            first = line.strip()[:1]
            if first:
                break
    return "jsonl" if first in ("", "{", "[") else "csv"


def json_rows(path):
    """The rows of a file with a JSON array, or with one object. Raises Error."""
    try:
        with open(path, encoding=_encoding(path), newline="") as file:
            document = json.load(file, parse_float=json_number)
    except UnicodeError as error:
        raise not_text(path, error) from None
    except json.JSONDecodeError as error:
        hint = "Name a file with an object on each line .jsonl." if error.msg == "Extra data" else None
        raise line_error(path, error.lineno, f"is not valid JSON: {error.msg}", hint) from None
    except RecursionError:
        raise Error(f"{path} {_DEEP}.", "Nest values less deep.") from None
    found = document if isinstance(document, list) else [document]
    for number, row in enumerate(found, 1):
        if not isinstance(row, dict):
            raise Error(f"Row {number} of {path} is {type(row).__name__}, not an object.", "Each row is a JSON object.")
    return iter(found)


def line_rows(path, places):
    """Yields the rows of a file with an object a line, or of an array. Raises Error."""
    count = 0
    # Other line ends are white space in JSON.
    with open(path, encoding=_encoding(path), newline="\n") as file:
        lines = iter(file.readline, "")
        for number, line in enumerate(_text_lines(path, lines), 1):
            if not line.strip():
                continue
            if count == 0 and line.lstrip().startswith("["):
                places.count_rows()
                yield from json_rows(path)
                return
            row = _row(path, number, line)
            count += 1
            places.saw(count, number)
            yield row


def _text_lines(path, lines):
    try:
        yield from lines
    except UnicodeError as error:
        raise not_text(path, error) from None


def _row(path, number, line):
    try:
        row = json.loads(line, parse_float=json_number)
    except json.JSONDecodeError as error:
        raise line_error(path, number, f"is not valid JSON: {error.msg}") from None
    except RecursionError:
        raise line_error(path, number, _DEEP, "Nest values less deep.") from None
    if not isinstance(row, dict):
        raise line_error(path, number, "is not a JSON object")
    return row


def _encoding(path):
    found = encoding_of(path)
    return "utf-8-sig" if found == "utf-8" else found
