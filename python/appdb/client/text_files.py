"""Rows of CSV, JSON and JSON lines files. Errors name the line."""

import csv
import json

from appdb.declare.errors import Error, listed

#: Maximum length of one value of a CSV file.
_FIELD = 1 << 28
_TRUE, _FALSE = ("true", "t", "yes", "1"), ("false", "f", "no", "0")


def rows(path, extension, columns):
    """Yields the rows of a file as dicts. `columns`: references of the table's columns by name. Raises Error."""
    if extension in (".csv", ".tsv"):
        return _csv(path, "\t" if extension == ".tsv" else ",", columns)
    return _json(path) if extension == ".json" else _lines(path)


def _csv(path, delimiter, columns):
    csv.field_size_limit(_FIELD)
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        heads = _next(reader, path)
        if heads is None:
            raise Error(f"{path} is empty.", "Its first line has the names of the columns.")
        twice = sorted({name for name in heads if heads.count(name) > 1})
        if twice:
            raise Error(f"{path} has several columns named {listed(twice)}.", "Name each column once.")
        readers = [_reader(columns.get(name.lower())) for name in heads]
        while (values := _next(reader, path)) is not None:
            if not values:
                continue
            if len(values) != len(heads):
                raise _at(path, reader.line_num, f"has {len(values)} values; the first line names {len(heads)} columns")
            row = {}
            for name, read, text in zip(heads, readers, values):
                try:
                    row[name] = read(text)
                except ValueError as error:
                    problem = f"has {text[:80]!r} in the column {name}, which is not {error}"
                    raise _at(path, reader.line_num, problem) from None
            yield row


def _next(reader, path):
    try:
        return next(reader, None)
    except csv.Error as error:
        raise _at(path, reader.line_num, f"is not valid CSV: {error}") from None
    except UnicodeDecodeError as error:
        raise _not_utf8(path, reader.line_num + 1, error) from None


def _reader(column):
    """The function from the text of a CSV cell to a value of the column. An empty cell is null if it may be."""
    kind = None if column is None else column._kind
    if kind == "string":
        return (lambda text: text or None) if column._nullable else lambda text: text
    read = {"int": _int, "float": _float, "bool": _bool, "json": _json_cell, "array": _json_cell}.get(kind, str)
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


def _json(path):
    try:
        with open(path, encoding="utf-8-sig") as file:
            document = json.load(file)
    except UnicodeDecodeError as error:
        raise _not_utf8(path, 1, error) from None
    except json.JSONDecodeError as error:
        raise _at(path, error.lineno, f"is not valid JSON: {error.msg}") from None
    found = document if isinstance(document, list) else [document]
    for number, row in enumerate(found, 1):
        if not isinstance(row, dict):
            raise Error(f"Row {number} of {path} is {type(row).__name__}, not an object.", "Each row is a JSON object.")
    return iter(found)


def _lines(path):
    number = 0
    with open(path, encoding="utf-8-sig") as file:
        while True:
            try:
                line = file.readline()
            except UnicodeDecodeError as error:
                raise _not_utf8(path, number + 1, error) from None
            if not line:
                return
            number += 1
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise _at(path, number, f"is not valid JSON: {error.msg}") from None
            if not isinstance(row, dict):
                raise _at(path, number, "is not a JSON object")
            yield row


def _at(path, line, problem):
    return Error(f"Line {line} of {path} {problem}.", "Correct the line, and insert the file again.")


def _not_utf8(path, line, error):
    return Error(
        f"{path} is not UTF-8, at line {line} or after it: {error.reason}.",
        f"Convert it: iconv -f ISO-8859-1 -t UTF-8 {path} > new.csv",
    )
