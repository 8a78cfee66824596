"""The errors of rows that cannot be inserted: by row and column, or by the line of their file."""

import re

from appdb.declare.errors import Error, did_you_mean, listed

#: What a server puts before the reason: the row, and the column.
_ROW = re.compile(r"(?:Line \d+|\[\d+\]): ")


class Places:
    """Where the rows of a file are: row numbers from 1, and lines."""

    def __init__(self, path):
        self._path = path
        self._rows = [1]
        self._offsets = [1]

    def saw(self, row, line):
        """A row that begins at a line. Rows come in their order."""
        if line - row != self._offsets[-1]:
            self._rows.append(row)
            self._offsets.append(line - row)

    def count_rows(self):
        """The rows are not on lines of their own."""
        self._offsets = None

    def __call__(self, row):
        if self._offsets is None:
            return f"row {row} of {self._path}"
        from bisect import bisect_right

        return f"line {row + self._offsets[bisect_right(self._rows, row) - 1]} of {self._path}"


def row_number(row):
    """The place of a row of a list or frame."""
    return f"row {row}"


def wrong_values(fields, place=row_number, hint="Correct them.", made=Error, code="invalid_request", most=20, verb="inserted"):
    """The error of fields, which have a pointer `/3/title` and a reason."""
    told = [_told(field, place) for field in fields]
    if len(told) == 1:
        return made(f"No row was {verb}: {told[0]}", hint, code, fields)
    text = "\n".join(f"  {one}" for one in told)
    use = "stored" if verb == "inserted" else "used"
    more = f" These are the first {most}:" if len(told) >= most else ""
    return made(f"Some values cannot be {use}, and no row was {verb}.{more}\n{text}\n", hint, code, fields)


def _told(field, place):
    row, column = _parts(field["pointer"])
    named = "" if column is None else f", column '{column}'"
    return f"{place(row)}{named}: {_ended(field['detail'])}"


def _ended(text):
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _parts(pointer):
    """The row from 1, and the column."""
    row, *rest = pointer.removeprefix("/").split("/")
    return int(row) + 1, (rest[0].replace("~1", "/").replace("~0", "~") if rest else None)


def refused_rows(error, table, source, verb="inserted"):
    """The error of an insert or compute in the words of the library, or the same error if it is not about rows.

    `verb`: what was not done to the rows.
    """
    fields = error.errors
    if not fields or not all(re.match(r"/\d+(/|$)", str(field.get("pointer"))) for field in fields):
        return error
    declared = table.__appdb_table__
    columns = {name: column for name, column in declared.columns.items() if column.is_stored and column.value is None}
    own = [{**field, "detail": _reason(field, table, columns)} for field in fields]
    hint = source.hint(_parts(fields[0]["pointer"])[1]) if callable(source.hint) else source.hint
    if hint is None and error.code == "function_missing":
        hint = table._missing_function_hint()
    hint = hint or error.hint
    if hint is None or hint.startswith("The route takes"):
        is_unknown = any(_parts(field["pointer"])[1] not in (None, *columns) for field in fields)
        hint = f"The columns of {table.path} are {listed(columns)}." if is_unknown else "Correct them."
    return wrong_values(own, source.place, hint, type(error), error.code, verb=verb)


def _reason(field, table, columns):
    """The reason without the row and the column, and without words of routes."""
    _, column = _parts(field["pointer"])
    detail = _ROW.sub("", str(field["detail"]), 1)
    if column is None:
        return detail
    whole = str(field["pointer"]).removeprefix("/").partition("/")[2]
    detail = detail.removeprefix(f"{whole}: ")
    if detail.startswith("The route takes no field"):
        hint = did_you_mean(column, columns, "")
        return f"{table.path} has no such column.{' ' if hint else ''}{hint}"
    if "is computed by the service" in detail:
        return "the column is computed; leave it out."
    if detail == f'The field "{column}" is required.':
        return "a value is required."
    return "the column cannot be null." if detail == f'The field "{column}" must not be null.' else detail
