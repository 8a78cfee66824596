"""Cells of CSV files: their text as values of columns, and whether they have quotes."""

import json
import re
from decimal import Decimal

from appdb.client.rows.exact_numbers import json_number



class Base64(str):
    """Bytes in a file of texts, which the server decodes."""


#: The command reads the same texts (packages/contract/src/clients/typed-values.ts).
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_BOOLS = {**dict.fromkeys(("true", "t", "yes", "1"), True), **dict.fromkeys(("false", "f", "no", "0"), False)}
#: Digits that Python converts.
_MOST_DIGITS = 4_000


def reader_of(column):
    """The function from the text of a cell to a value of the column. The server refuses a text that does not fit.

    It raises ValueError for a text of a Json column that is not JSON. An empty text is null if it may be."""
    kind = None if column is None else column._kind
    if kind == "string":
        return (lambda text: text or None) if column._nullable else lambda text: text
    read = {"int": _int, "float": _float, "bool": _bool, "json": _json, "array": _array, "binary": Base64}.get(kind, str)
    return lambda text: None if text == "" else read(text)


def empty_text(column):
    """The value of `""` in the column; None if it means null."""
    if column is not None and column._kind == "binary":
        return Base64()
    return "" if column is None or column._kind == "string" else None


def _int(text):
    bare = text.strip()
    if len(bare) > _MOST_DIGITS:
        return text
    if _WHOLE.fullmatch(bare):
        return int(bare)
    if not _NUMBER.fullmatch(bare):
        return text
    value = Decimal(bare)
    is_whole = value == value.to_integral_value() and value.adjusted() < _MOST_DIGITS
    return int(value) if is_whole else float(bare)


def _float(text):
    bare = text.strip()
    return float(bare) if _NUMBER.fullmatch(bare) else text


def _bool(text):
    return _BOOLS.get(text.strip().lower(), text)


def _array(text):
    try:
        return _json(text)
    except ValueError:
        return text


def _json(text):
    try:
        return json.loads(text, parse_float=json_number, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("too deep") from None


def _refuse(name):
    raise ValueError(name)


def quoted_cells(record, separator):
    """Whether each cell of a record has quotes, and the line of the record at which its last cell begins, from 0.

    `record`: its text, which csv.reader has taken, or the rest of a file whose quote does not end."""
    found, at, line, last = [], 0, 0, 0
    while True:
        last = line
        is_quoted = record.startswith('"', at)
        if is_quoted:
            at += 1
            while True:
                end = record.find('"', at)
                if end < 0:
                    return [*found, True], last
                line += record.count("\n", at, end)
                at = end + 1
                if not record.startswith('"', at):
                    break
                at += 1
        found.append(is_quoted)
        end = record.find(separator, at)
        if end < 0:
            return found, last
        at = end + len(separator)
