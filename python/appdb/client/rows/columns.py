"""Rows by columns: the form in which many rows are sent. docs/data-api.md describes its frames.

A piece is some rows that are sent together. A column that has exactly the Python type of its kind is sent as the bytes
of its values, any other as JSON. Rows that do not form columns are sent as lines of JSON, whose errors name them.
"""

import json
import struct
from itertools import chain, islice

from appdb.client.rows.column_forms import form_of, texts_of
from appdb.client.rows.encoding import column_json, encoded_rows
from appdb.kinds import rules

CONTENT_TYPE = "application/vnd.appdb.columns"
#: Bytes that a frame should have, and rows.
_FRAME_BYTES = 1 << 19
_FRAME_ROWS = 4_000
_FIRST_ROWS = 250
#: Rows of an iterator that are read before the size of one is looked at.
_LOOKED_AT = 16


class RowPiece:
    """Some dicts as columns."""

    __slots__ = ("_rows",)

    def __init__(self, rows):
        self._rows = rows

    def __len__(self):
        return len(self._rows)

    def rows(self):
        return iter(self._rows)

    def columns(self):
        """Lists of values by name; None if the rows have different names, or none."""
        first = self._rows[0]
        names = list(first)
        # A server refuses frames without columns.
        if not names or set(map(type, self._rows)) != {dict} or set(map(len, self._rows)) != {len(names)}:
            return None
        try:
            return {name: [row[name] for row in self._rows] for name in names}
        except KeyError:
            return None

    def halves(self):
        middle = len(self._rows) // 2
        return [RowPiece(self._rows[:middle]), RowPiece(self._rows[middle:])]


def pieces_of(rows, size):
    """Pieces of an iterator of dicts. `size` has the number of rows of the next one."""
    while True:
        piece = list(islice(rows, min(size.rows, _LOOKED_AT)))
        while len(piece) < size.rows and not _is_large(piece):
            more = list(islice(rows, min(size.rows - len(piece), _LOOKED_AT)))
            if not more:
                break
            piece += more
        if not piece:
            return
        yield RowPiece(piece)


def _is_large(piece):
    if not piece:
        return True
    texts = [value for value in dict.values(piece[-1]) if type(value) in (str, bytes)]
    return sum(map(len, texts)) * len(piece) > 2 * _FRAME_BYTES


class Size:
    """The number of rows of the next piece, by the size of the last frame."""

    def __init__(self):
        self.rows = _FIRST_ROWS

    def saw(self, rows, size):
        self.rows = max(1, min(rows * _FRAME_BYTES // max(size, 1), 4 * rows, _FRAME_ROWS))


def frames(pieces, refs, is_frame, size, counted):
    """Yields the frames of pieces. Raises Error that names the first wrong values, as encoded_rows() does."""
    done = 0
    pieces = iter(pieces)
    for whole in pieces:
        waiting = [whole]
        while waiting:
            piece = waiting.pop()
            frame = _column_frame(piece, refs)
            if frame is None:
                rest = chain(piece.rows(), *(one.rows() for one in reversed(waiting)), _rows_of(pieces))
                lines = encoded_rows(rest, refs, is_frame, lambda _: None, done)
                frame = _line_frame(list(islice(lines, len(piece))))
            length = sum(map(len, frame))
            if length > 4 * _FRAME_BYTES and len(piece) > 1:
                waiting += reversed(piece.halves())
                continue
            size.saw(len(piece), length)
            done += len(piece)
            yield b"".join(frame)
            counted(done)


def _rows_of(pieces):
    for piece in pieces:
        yield from piece.rows()


def _line_frame(lines):
    data = b"\n".join(lines)
    return [struct.pack("<II", 4 + len(data), 0), data]


def _column_frame(piece, refs):
    """The parts of a frame; None if the rows do not form columns."""
    columns = piece.columns()
    if columns is None:
        return None
    described, parts = [], []
    for name, values in columns.items():
        if type(name) is not str:
            return None
        ref = refs.get(name)
        packed = _packed(values, None if ref is None else form_of(rules(ref._kind).column), ref)
        if packed is None:
            return None
        form, nulls, *data = packed
        described.append({"name": name, "form": form, "nulls": nulls is not None})
        parts += data if nulls is None else [nulls, *data]
    try:
        header = json.dumps({"rows": len(piece), "columns": described}, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return None
    length = 4 + len(header) + sum(map(len, parts))
    return [struct.pack("<II", length, len(header)), header, *parts]


def _packed(values, form, ref):
    """(form, nulls or None, parts) of a column; None if a value is not what the form takes."""
    if type(values) is tuple:
        return values
    nulls = None
    types = set(map(type, values))
    if type(None) in types:
        types.discard(type(None))
        nulls = bytes([value is None for value in values])
        if form is not None:
            values = [form.filler if value is None else value for value in values]
    try:
        if form is None:
            return ("source", nulls, *texts_of(column_json(values, ref)))
        if types <= form.types:
            parts = form.pack(values)
            return None if parts is None else (form.name, nulls, *parts)
    except (ValueError, TypeError, OverflowError, RecursionError, struct.error):
        return None  # The reader of rows says which value is wrong.
    return None
