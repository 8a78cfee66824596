"""Rows of CSV files. Errors name the line."""

import codecs
import csv

from appdb.client.rows.csv_cells import empty_text, quoted_cells, reader_of
from appdb.declare.errors import Error

#: Maximum length of one value.
_FIELD = 1 << 28
_SEPARATORS = (",", ";", "\t")
_HEAD = 1 << 16
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
            lines = _Lines(file)
            reader = csv.reader(lines, delimiter=separator, strict=True)
            line, heads = 1, []
            while heads == []:
                line = reader.line_num + 1
                heads = self._next(reader, lines, line, separator)
            if heads is None:
                raise Error(f"{self._path} is empty.", "Its first line has the names of the columns.")
            heads = [head.strip() for head in heads]
            targets = self._naming.columns([head or None for head in heads], self._path, self._columns)
            refs = [self._columns.get(name) for name in targets]
            cells = list(zip(heads, targets, map(reader_of, refs), map(empty_text, refs)))
            number = 0
            while True:
                start = reader.line_num + 1
                values = self._next(reader, lines, start, separator)
                if values is None:
                    return
                if not values:
                    continue
                if len(values) != len(heads):
                    raise line_error(self._path, start, f"has {len(values)} values; the first line names {len(heads)} columns")
                number += 1
                self._places.saw(number, start)
                # Only a cell with quotes is an empty text.
                is_quoted = quoted_cells("".join(lines.record), separator)[0] if lines.has_empty else None
                yield self._row(cells, values, start, is_quoted)

    def _row(self, cells, values, line, is_quoted):
        row = {}
        for at, ((head, name, read, empty), text) in enumerate(zip(cells, values)):
            if name is None:
                if head == "" and text and self._naming.is_plain:
                    raise without_name(self._path, f"Line {line}", repr(text[:80]))
            elif text == "" and is_quoted is not None and empty is not None and is_quoted[at]:
                row[name] = empty
            else:
                try:
                    row[name] = read(text)
                except ValueError:
                    problem = f"has {text[:80]!r} in the column {name}, which is not JSON"
                    raise line_error(self._path, line, problem, self._hint_for(name)) from None
        return row

    def _hint_for(self, name):
        return None if self._hint is None else self._hint(name)

    def _next(self, reader, lines, start, separator):
        lines.begin()
        try:
            return next(reader, None)
        except csv.Error as error:
            line = reader.line_num
            if "unexpected end" in str(error):
                line = start + quoted_cells("".join(lines.record), separator)[1]
                error = "the quote that begins a cell does not end"
            raise line_error(self._path, line, f"is not valid CSV: {error}") from None
        except UnicodeError as error:
            raise not_text(self._path, error) from None


class _Lines:
    """The lines of a file. `record` has those of the record that is read, `has_empty` says whether one has `""`."""

    def __init__(self, file):
        self._file = file
        self.begin()

    def begin(self):
        """Begins a record."""
        self.record = []
        self.has_empty = False

    def __iter__(self):
        return self

    def __next__(self):
        line = next(self._file)
        self.record.append(line)
        if '""' in line:
            self.has_empty = True
        return line


def encoding_of(path):
    """The encoding of a file by its first bytes."""
    with open(path, "rb") as file:
        return _encoding(file.read(len(codecs.BOM_UTF8)))


def _encoding(head):
    return next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")


def _form(path):
    """The encoding of a file, and the separator that its first line with text has the most of."""
    with open(path, "rb") as file:
        head = file.read(_HEAD)
    encoding = _encoding(head)
    line = head.decode(encoding, "replace").lstrip("\r\n").splitlines()[:1]
    bare = "".join(line[0].split('"')[::2]) if line else ""
    return encoding, max(_SEPARATORS, key=bare.count)


def without_name(path, place, value):
    """The error of a value below an empty name."""
    return Error(
        f"{place} of {path} has {value} in a column without a name.",
        'Name the column in the first line, or choose the others: columns={"id": "id"}. pandas writes files without such a column with index=False.',
    )


def line_error(path, line, problem, hint=None):
    """The error of a line of a file."""
    return Error(f"Line {line} of {path} {problem}.", hint or "Correct the line, and insert the file again.")


def not_text(path, error):
    """The error of a file that is not in its encoding."""
    encoding = encoding_of(path)
    line = _first_wrong_line(path, encoding)
    name = "UTF-16" if encoding == "utf-16" else "UTF-8"
    reason = getattr(error, "reason", None) or str(error)
    return Error(
        f"Line {line} of {path} is not {name}: {reason}.",
        f"Convert the file from its encoding, for example: iconv -f ISO-8859-1 -t UTF-8 {path} > new.csv",
    )


def _first_wrong_line(path, encoding):
    line = 1
    if encoding == "utf-16":
        with open(path, encoding=encoding, errors="replace", newline="\n") as file:
            for line, text in enumerate(file, 1):
                if "\ufffd" in text:
                    return line
        return line
    with open(path, "rb") as file:
        for line, data in enumerate(file, 1):
            try:
                data.decode()
            except UnicodeError:
                return line
    return line
