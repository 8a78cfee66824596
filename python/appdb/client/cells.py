"""Values of a result: from their form in messages to Python objects."""

import os
import tempfile

from appdb.declare.errors import Error
from appdb.declare.types import display
from appdb.kinds import rules
from appdb.kinds._base import Kind
from appdb.values import decoder

_BLOCK = 1 << 20


class Column:
    """A column of a result: its name, and its type as the manifest has it."""

    __slots__ = ("name", "type", "nullable", "asked")

    def __init__(self, name, type, nullable, asked=None):
        self.name = name
        self.type = type
        self.nullable = nullable
        self.asked = asked  # Of a file: "fileurl" or "localpath" if that was selected.

    @property
    def kind(self):
        """`string`, `int`."""
        return self.type["kind"]

    @property
    def is_media(self):
        """Whether its values are files."""
        return rules(self.kind).check is not None

    def shown_type(self):
        """`Int | None`."""
        return display(Kind(self.type) if len(self.type) > 1 else self.kind, self.nullable)

    def __repr__(self):
        return f"{self.name}: {self.shown_type()}"


def exported_address(cell):
    """The address of a file that an insert of the same database takes. Older servers give no `uri`."""
    return cell.get("url") or cell.get("uri") or cell["address"]


class Files:
    """The files of results, copied into a temporary folder when they are first read. The folder ends with the process."""

    def __init__(self, connection):
        self._connection = connection
        self._folder = None

    def path(self, cell):
        """The path of a local copy."""
        import hashlib
        import mimetypes

        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="appdb-files-")
        suffix = os.path.splitext(cell.get("name") or "")[1] or mimetypes.guess_extension(cell.get("type") or "") or ""
        name = hashlib.sha256(cell["address"].encode()).hexdigest()[:32] + suffix
        path = os.path.join(self._folder.name, name)
        if not os.path.exists(path):
            part = f"{path}.{os.getpid()}.part"
            with self._connection.send("GET", "/" + cell["address"]) as answer, open(part, "wb") as file:
                for block in answer.blocks():
                    file.write(block)
            os.replace(part, path)
        return path


class File:
    """A cell with a file, which is read when its value is asked for."""

    __slots__ = ("cell", "kind", "_files", "_path")

    def __init__(self, cell, kind, files):
        self.cell = cell
        self.kind = kind
        self._files = files
        self._path = None

    @property
    def path(self):
        """The path of a local copy."""
        if self._path is None:
            self._path = self._files.path(self.cell)
        return self._path

    def value(self):
        """A PIL.Image.Image for an image, the path of a local copy for other files."""
        if self.kind != "image":
            return self.path
        from appdb.declare.packages import require
        from appdb.kinds.image import open_image

        require(("pillow",), "An image")
        return open_image(self.path)

    def shown(self):
        """`<Image 640x480 RGB>`, without reading the file."""
        cell = self.cell
        size = f"{cell['width']}x{cell['height']}" if "width" in cell else ""
        parts = (self.kind.capitalize(), size, cell.get("mode", ""), "" if size else cell.get("type", ""))
        return f"<{' '.join(part for part in parts if part)}>"


class Row(dict):
    """A row with files: a file's value is read when it is asked for."""

    __slots__ = ()

    def __getitem__(self, name):
        return _value(dict.__getitem__(self, name))

    def get(self, name, default=None):
        """As of a dict."""
        return _value(dict.get(self, name, default))

    def values(self):
        """As of a dict, with all files read."""
        return [_value(value) for value in dict.values(self)]

    def items(self):
        """As of a dict, with all files read."""
        return [(name, _value(value)) for name, value in dict.items(self)]

    def file(self, name):
        """The File of a cell, unread."""
        return dict.__getitem__(self, name)

    def __repr__(self):
        texts = (f"{name!r}: {value.shown() if type(value) is File else repr(value)}" for name, value in dict.items(self))
        return f"{{{', '.join(texts)}}}"


def _value(value):
    return value.value() if type(value) is File else value


def row_decoder(columns, files):
    """Returns the function that replaces the values of rows, lists of lists, by Python objects; None if none differ."""
    changed = []
    for place, column in enumerate(columns):
        decode = _cell_decoder(column, files)
        if decode is not None:
            changed.append((place, decode))
    if not changed:
        return None

    def decode_rows(rows):
        place, row = 0, []
        try:
            for place, decode in changed:
                for row in rows:
                    if row[place] is not None:
                        row[place] = decode(row[place])
        except ValueError as error:
            raise _outside(columns[place], row[place]) or error from None

    return decode_rows


def _outside(column, value):
    """The error of a date or time that Python has not, such as PostgreSQL's infinity; None for another column."""
    if rules(column.kind).column not in ("days", "micros"):
        return None
    return Error(
        f"The column {column.name} has {value}, which is not a {column.shown_type()}: years are 1 to 9999.",
        f"Another program wrote it. Find it with cli rows, and replace it: cli update <table> <key> --set {column.name}=<value>",
        "value_outside_type",
    )


def _cell_decoder(column, files):
    if not column.is_media:
        return decoder(column.type)
    if column.asked == "fileurl":
        return exported_address
    if column.asked == "localpath":
        return files.path
    kind = column.kind
    return lambda cell: File(cell, kind, files)


def row_maker(columns):
    """Returns the function from a list of values to a row."""
    names = [column.name for column in columns]
    made = Row if any(column.is_media and column.asked is None for column in columns) else dict
    return lambda values: made(zip(names, values))
