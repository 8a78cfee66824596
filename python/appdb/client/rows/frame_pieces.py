"""Frames of pandas, polars and Arrow as pieces of columns, whose values do not become Python objects where possible."""

from appdb.client.rows.column_forms import form_of
from appdb.client.rows.arrow_values import json_value, values_of
from appdb.client.rows.frames import decoded_rows, json_names
from appdb.client.rows.row_names import Naming, folded
from appdb.kinds import rules


class FramePiece:
    """Some rows of a frame. `arrays` gives its columns as Arrow arrays or lists, `rows` its rows as dicts."""

    __slots__ = ("_frame", "_kind", "_refs")

    def __init__(self, frame, kind, refs):
        self._frame = frame
        self._kind = kind
        self._refs = refs

    def __len__(self):
        return self._kind.length(self._frame)

    def rows(self):
        return Naming().rows(self._kind.rows(self._frame, self._refs), self._refs)

    def columns(self):
        found = {}
        for name in self._kind.names(self._frame):
            column = folded(name)
            ref = self._refs.get(column)
            form = None if ref is None else form_of(rules(ref._kind).column)
            found[column] = self._kind.column(self._frame, name, form, self._refs)
        return found

    def halves(self):
        middle = len(self) // 2
        cut = self._kind.cut
        parts = [cut(self._frame, 0, middle), cut(self._frame, middle, len(self) - middle)]
        return [FramePiece(part, self._kind, self._refs) for part in parts]


def pieces_of(frames, kind, refs, size):
    """Pieces of frames. `size` has the number of rows of the next one."""
    for frame in frames:
        at, length = 0, kind.length(frame)
        while at < length:
            rows = min(size.rows, length - at)
            yield FramePiece(kind.cut(frame, at, rows), kind, refs)
            at += rows


class PandasKind:
    """How pieces of a DataFrame are read."""

    def __init__(self, rows, values):
        self.rows = rows
        self._values = values

    length = staticmethod(len)

    @staticmethod
    def names(frame):
        return list(frame.columns)

    @staticmethod
    def cut(frame, at, rows):
        return frame.iloc[at : at + rows]

    def column(self, frame, name, form, refs):
        import pyarrow

        series = frame[name]
        if form is not None and series.dtype != object:
            try:
                packed = packed_array(pyarrow.array(series, from_pandas=True), form.name)
            except (pyarrow.ArrowException, TypeError, ValueError):
                packed = None  # Python's objects say what does not fit.
            if packed is not None:
                return packed
        return self._values(series, refs.get(folded(name)))


class ArrowKind:
    """How pieces of an Arrow table or batch are read."""

    @staticmethod
    def length(table):
        return table.num_rows

    @staticmethod
    def names(table):
        return table.schema.names

    @staticmethod
    def cut(table, at, rows):
        return table.slice(at, rows)

    @staticmethod
    def rows(table, refs):
        return iter(decoded_rows(table, refs))

    @staticmethod
    def column(table, name, form, refs):
        import pyarrow

        values = table.column(name)
        if name in json_names(table.schema, refs):
            if isinstance(values.type, pyarrow.BaseExtensionType):
                values = values.cast(pyarrow.string())
            _, *parts = packed_array(values, "utf8") or (None,)
            return ("source", *parts) if parts else [None if one is None else json_value(one) for one in values_of(values)]
        if form is not None:
            try:
                packed = packed_array(values, form.name)
            except pyarrow.ArrowException:
                packed = None  # Python's objects say what does not fit.
            if packed is not None:
                return packed
        return values_of(values)


class PolarsKind:
    """How pieces of a polars.DataFrame are read."""

    @staticmethod
    def length(frame):
        return frame.height

    @staticmethod
    def names(frame):
        return frame.columns

    @staticmethod
    def cut(frame, at, rows):
        return frame.slice(at, rows)

    @staticmethod
    def rows(frame, _refs):
        return iter(frame.to_dicts())

    @staticmethod
    def column(frame, name, form, _refs):
        import pyarrow

        series = frame.get_column(name)
        if form is not None:
            try:
                packed = packed_array(series.to_arrow(), form.name)
            except pyarrow.ArrowException:
                packed = None  # Python's objects say what does not fit.
            if packed is not None:
                return packed
        return series.to_list()


def packed_array(values, form):
    """(form, nulls or None, parts) of an Arrow array; None if the form does not take its type.

    Raises pyarrow.ArrowException for a value that the form cannot hold."""
    import pyarrow
    from pyarrow import compute

    if isinstance(values, pyarrow.ChunkedArray):
        values = values.combine_chunks()
        if isinstance(values, pyarrow.ChunkedArray):
            values = pyarrow.concat_arrays(values.chunks)
    read = _READERS[form]
    if pyarrow.types.is_floating(values.type):
        nan = compute.is_nan(values)
        if compute.any(nan).as_py():
            values = compute.if_else(nan, pyarrow.scalar(None, values.type), values)
    values = read(pyarrow, values)
    if values is None or (form == "f64" and not compute.all(compute.is_finite(values)).as_py()):
        return None
    nulls = None
    if values.null_count:
        nulls = _fixed(values.is_null().cast(pyarrow.uint8()), 1)
        values = values.fill_null(_fillers(pyarrow, values.type))
    if form in _TEXTS:
        data = _text(values)
        # A text with NUL is refused by its row.
        if form == "utf8" and b"\0" in bytes(data):
            return None
        return (form, nulls, _fixed(compute.binary_length(values), 4), data)
    return (form, nulls, _fixed(values, values.type.bit_width // 8))


def _fixed(values, width):
    """The bytes of values of one width."""
    return memoryview(values.buffers()[1]).cast("B")[values.offset * width : (values.offset + len(values)) * width]


def _text(values):
    _, offsets, data = values.buffers()
    if data is None:
        return b""
    places = memoryview(offsets).cast("B").cast("i")
    return memoryview(data).cast("B")[places[values.offset] : places[values.offset + len(values)]]


def _fillers(pyarrow, type):
    if pyarrow.types.is_string(type):
        return ""
    return b"" if pyarrow.types.is_binary(type) else pyarrow.scalar(0, pyarrow.int64()).cast(type)


def _numbers(target):
    def read(pyarrow, values):
        is_number = pyarrow.types.is_integer(values.type) or pyarrow.types.is_floating(values.type)
        return values.cast(getattr(pyarrow, target)()) if is_number else None

    return read


def _bools(pyarrow, values):
    return values.cast(pyarrow.uint8()) if pyarrow.types.is_boolean(values.type) else None


def _micros(pyarrow, values):
    if not pyarrow.types.is_timestamp(values.type):
        return None
    return values.cast(pyarrow.timestamp("us", values.type.tz)).view(pyarrow.int64())


def _days(pyarrow, values):
    if pyarrow.types.is_timestamp(values.type) and values.type.tz is None:
        days = values.cast(pyarrow.date32())
        if not days.cast(values.type).equals(values):
            return None  # The hours of a day would be lost: the reader of rows refuses them.
        values = days
    return values.view(pyarrow.int32()) if pyarrow.types.is_date32(values.type) else None


def _of_types(target, names):
    def read(pyarrow, values):
        type = values.type
        if pyarrow.types.is_dictionary(type):
            type = type.value_type
        is_one = any(getattr(pyarrow.types, name, lambda _: False)(type) for name in names)
        return values.cast(getattr(pyarrow, target)()) if is_one else None

    return read


_TEXTS = ("utf8", "bytes")
_READERS = {
    "i64": _numbers("int64"),
    "f64": _numbers("float64"),
    "u8": _bools,
    "micros": _micros,
    "days": _days,
    "b16": lambda pyarrow, values: None,
    "utf8": _of_types("string", ("is_string", "is_large_string", "is_string_view")),
    "bytes": _of_types("binary", ("is_binary", "is_large_binary", "is_binary_view")),
}
