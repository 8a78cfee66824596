"""Rows of JSON and JSON lines files. Errors name the line."""

import json

from appdb.client.rows.csv_files import line_error, not_text
from appdb.declare.errors import Error


def json_rows(path):
    """The rows of a file with a JSON array, or with one object. Raises Error."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            document = json.load(file)
    except UnicodeDecodeError as error:
        raise not_text(path, 1, error) from None
    except json.JSONDecodeError as error:
        raise line_error(path, error.lineno, f"is not valid JSON: {error.msg}") from None
    found = document if isinstance(document, list) else [document]
    for number, row in enumerate(found, 1):
        if not isinstance(row, dict):
            raise Error(f"Row {number} of {path} is {type(row).__name__}, not an object.", "Each row is a JSON object.")
    return iter(found)


def line_rows(path, places):
    """Yields the rows of a file with an object a line. Raises Error."""
    number, count = 0, 0
    with open(path, encoding="utf-8-sig") as file:
        while True:
            try:
                line = file.readline()
            except UnicodeDecodeError as error:
                raise not_text(path, number + 1, error) from None
            if not line:
                return
            number += 1
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise line_error(path, number, f"is not valid JSON: {error.msg}") from None
            if not isinstance(row, dict):
                raise line_error(path, number, "is not a JSON object")
            count += 1
            places.saw(count, number)
            yield row
