"""Rows of CSV files. Errors name the line."""

import codecs
import csv
import json
from base64 import b64decode

from appdb.declare.errors import Error

#: Maximum length of one value.
_FIELD = 1 << 28
_SEPARATORS = (",", ";", "\t")
_HEAD = 1 << 16
_TRUE, _FALSE = ("true", "t", "yes", "1"), ("false", "f", "no", "0")
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class CsvFile:
    """A CSV file whose first line names columns. `columns`: references of the table's columns by name."""

    def __init__(self, path, columns, naming, places, hint=None):
        self._path = path
        self._columns = columns
        self._naming = naming
        self._places = places
        self._hint = hint

    def rows(self):
        """Yields the rows as dicts. Raises Error."""
        csv.field_size_limit(_FIELD)
        encoding, separator = _form(self._path)
        with open(self._path, encoding=encoding, newline="") as file:
            reader = csv.reader(file, delimiter=separator, strict=True)
            heads = self._next(reader)
            if heads is None:
                raise Error(f"{self._path} is empty.", "Its first line has the names of the columns.")
            targets = self._naming.columns([head or None for head in heads], self._path)
            readers = [_reader(self._columns.get(name)) for name in targets]
            number = 0
            line = reader.line_num + 1
            while (values := self._next(reader)) is not None:
                start, line = line, reader.line_num + 1
                if not values:
                    continue
                if len(values) != len(heads):
                    raise line_error(self._path, start, f"has {len(values)} values; the first line names {len(heads)} columns")
                number += 1
                self._places.saw(number, start)
                row = {}
                for head, name, read, text in zip(heads, targets, readers, values):
                    if name is None:
                        if head == "" and text and self._naming.is_plain:
                            raise without_name(self._path, f"Line {start}", repr(text[:80]))
                        continue
                    try:
                        row[name] = read(text)
                    except ValueError as error:
                        problem = f"has {text[:80]!r} in the column {name}, which is not {error}"
                        raise line_error(self._path, start, problem, self._hint_for(name)) from None
                yield row

    def _hint_for(self, name):
        return None if self._hint is None else self._hint(name)

    def _next(self, reader):
        try:
            return next(reader, None)
        except csv.Error as error:
            raise line_error(self._path, reader.line_num, f"is not valid CSV: {error}") from None
        except UnicodeError as error:
            raise not_text(self._path, reader.line_num + 1, error) from None


def _form(path):
    """The encoding of a file by its first bytes, and the separator that its first line has the most of."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
    line = head.decode(encoding, "replace").splitlines()[:1]
    bare = "".join(line[0].split('"')[::2]) if line else ""
    return encoding, max(_SEPARATORS, key=bare.count)


def without_name(path, place, value):
    """The error of a value below an empty name."""
    return Error(
        f"{place} of {path} has {value} in a column without a name.",
        'Name the column in the first line, or choose the others: columns={"id": "id"}. pandas writes files without such a column with index=False.',
    )


def _reader(column):
    """The function from the text of a cell to a value of the column. An empty cell is null if it may be."""
    kind = None if column is None else column._kind
    if kind == "string":
        return (lambda text: text or None) if column._nullable else lambda text: text
    read = {"int": _int, "float": _float, "bool": _bool, "json": _json_cell, "array": _json_cell, "binary": bytes_of}.get(kind, str)
    return lambda text: None if text == "" else read(text)


def _int(text):
    try:
        return int(text)
    except ValueError:
        raise ValueError("a whole number") from None


def _float(text):
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number") from None


def _bool(text):
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise ValueError("true or false")


def _json_cell(text):
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError("JSON") from None


def bytes_of(text):
    """The bytes of a text in base64. Raises ValueError."""
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise ValueError("base64") from None


def line_error(path, line, problem, hint=None):
    """The error of a line of a file."""
    return Error(f"Line {line} of {path} {problem}.", hint or "Correct the line, and insert the file again.")


def not_text(path, line, error):
    """The error of a file that is not UTF-8."""
    reason = getattr(error, "reason", None) or str(error)
    return Error(
        f"{path} is not UTF-8, at line {line} or after it: {reason}.",
        f"Convert it from its encoding, for example: iconv -f ISO-8859-1 -t UTF-8 {path} > new.csv",
    )
