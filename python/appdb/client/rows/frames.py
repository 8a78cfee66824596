"""Results as frames of pandas, polars and Arrow, which `appdb[data]` installs."""

import importlib
import io
import sys
from datetime import timezone

from appdb.client.cells import File, exported_address
from appdb.client.rows.arrow_values import is_arrow_json, json_value, marked_schema, types_of, values_of
from appdb.client.rows.row_names import folded
from appdb.declare.errors import Error
from appdb.values import decoder

_ARROW = {"string": "string", "int": "int64", "float": "float64", "bool": "bool_", "date": "date32", "binary": "binary"}


def need(module, what):
    """Imports a package that the base install lacks. Raises Error that names what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = "appdb[data]" if module in ("pandas", "pyarrow") else module.partition(".")[0]
        raise Error(
            f"{what} needs {module.partition('.')[0]}, which this Python lacks.",
            f"Install it: pip install '{package}'",
            "environment_failed",
        ) from error


def pandas_frame(columns, rows):
    """A DataFrame: nullable types where a column has nulls, so that numbers stay numbers."""
    pandas = need("pandas", "to_pandas()")
    values = _by_column(columns, rows)
    made = {}
    for place, column in enumerate(columns):
        given = values[place]
        has_null = any(value is None for value in given)
        dtype = {"int": "Int64" if has_null else "int64", "float": "float64", "bool": "boolean" if has_null else "bool"}
        if column.kind == "timestamp":
            made[place] = pandas.Series(pandas.to_datetime(given, utc=True))
        else:
            made[place] = pandas.Series(given, dtype=dtype.get(column.kind, "object"))
    frame = pandas.DataFrame(made)
    frame.columns = [column.name for column in columns]
    return frame


def arrow_table(columns, rows):
    """A pyarrow.Table: json as text, files as their addresses, UUIDs as text."""
    pyarrow = need("pyarrow", "to_arrow()")
    values = _by_column(columns, rows)
    arrays = [_arrow_array(pyarrow, column, given) for column, given in zip(columns, values)]
    return pyarrow.Table.from_arrays(arrays, names=[column.name for column in columns])


def is_json(kind):
    """Whether values of the kind are JSON, which files and Arrow have as texts."""
    return kind == "json"


def marked_table(columns, table):
    """A table whose fields have the types of their columns."""
    need("pyarrow", "to_arrow()")
    import pyarrow

    return pyarrow.Table.from_arrays(table.columns, schema=marked_schema(columns, table.schema))


def json_names(schema, refs, column_of=folded):
    """The names of the columns of texts that are marked as JSON, for columns of the same kind."""
    from pyarrow import types

    found = []
    for name, type in types_of(schema).items():
        ref, held = refs.get(column_of(name)), schema.field(name).type
        # Lists of any depth are texts, too: Arrow's types have one depth.
        is_text = is_arrow_json(held) or types.is_string(held) or types.is_large_string(held) or types.is_string_view(held)
        if ref is not None and ref._kind == type["kind"] and is_text and (is_json(ref._kind) or ref._kind == "array"):
            found.append(name)
    return found


def decoded_rows(table, refs, column_of=folded):
    """The rows of an Arrow table or batch as dicts. Texts that are marked as JSON are decoded."""
    names = set(json_names(table.schema, refs, column_of))
    columns = []
    for name, array in zip(table.schema.names, table.columns):
        values = values_of(array)
        columns.append([None if one is None else json_value(one) for one in values] if name in names else values)
    return [dict(zip(table.schema.names, values)) for values in zip(*columns)]


def polars_frame(table):
    """A polars.DataFrame of an Arrow table."""
    return need("polars", "to_polars()").from_arrow(table)


def has_arrow():
    """Whether pyarrow is installed: then results travel as Arrow."""
    from importlib.util import find_spec

    return "pyarrow" in sys.modules or find_spec("pyarrow") is not None


def read_stream(parts):
    """The pyarrow.Table of an IPC stream that came in parts."""
    pyarrow = need("pyarrow", "A result")
    from pyarrow import ipc

    return ipc.open_stream(pyarrow.py_buffer(b"".join(parts))).read_all()


def open_batches(parts):
    """A reader of the batches of an IPC stream that comes in parts. Errors of the parts are raised unchanged."""
    need("pyarrow", "A result")
    from pyarrow import ipc

    return ipc.open_stream(io.BufferedReader(_Parts(parts)))


class _Parts(io.RawIOBase):
    """Parts of a stream as one file."""

    def __init__(self, parts):
        self._parts = iter(parts)
        self._rest = memoryview(b"")

    def readable(self):
        """As of a file."""
        return True

    def readinto(self, into):
        """As of a file."""
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._rest = memoryview(part)
        count = min(len(into), len(self._rest))
        into[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


def table_rows(columns, table):
    """The rows of an Arrow table, as lists of Python objects."""
    return [list(values) for values in zip(*(_values(column, table.column(at)) for at, column in enumerate(columns)))]


def pandas_table(columns, table):
    """A DataFrame of an Arrow table, with the types of pandas_frame()."""
    pandas = need("pandas", "to_pandas()")
    made = {}
    for place, column in enumerate(columns):
        array = table.column(place)
        nullable = {"int": pandas.Int64Dtype(), "bool": pandas.BooleanDtype()}.get(column.kind)
        if nullable is not None and array.null_count:
            made[place] = array.to_pandas(types_mapper=lambda _, dtype=nullable: dtype)
        elif column.kind in ("int", "float", "bool", "timestamp"):
            made[place] = array.to_pandas()
        else:
            made[place] = pandas.Series(_values(column, array), dtype="object")
    frame = pandas.DataFrame(made)
    frame.columns = [column.name for column in columns]
    return frame


def _values(column, array):
    """The values of a column as Python objects."""
    values, kind = array.to_pylist(), column.kind
    if kind == "array":
        if column.type["shape"] is None:
            # Arrow has no type for lists of any depth, so that they are texts.
            values = [None if value is None else json_value(value) for value in values]
        numpy, dtype = _numpy(), column.type["dtype"]
        if numpy is None:
            return values
        return [None if value is None else numpy.array(value, dtype=str if dtype == "string" else dtype) for value in values]
    if kind == "timestamp":
        utc = timezone.utc
        return [None if value is None else value.replace(tzinfo=utc) for value in values]
    decode = decoder(column.type) if kind in ("uuid", "json") else None
    return values if decode is None else [None if value is None else decode(value) for value in values]


def _numpy():
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def _by_column(columns, rows):
    if not rows:
        return [[] for _ in columns]
    return [list(values) for values in zip(*rows)]


def _arrow_array(pyarrow, column, values):
    kind = column.kind
    if kind == "timestamp":
        return pyarrow.array(values, pyarrow.timestamp("us", "UTC"))
    if kind == "json" or (kind == "array" and column.type["shape"] is None):
        from appdb.values import to_json

        plain = [value.tolist() if hasattr(value, "tolist") else value for value in values]
        return pyarrow.array([None if value is None else to_json(value) for value in plain], pyarrow.string())
    if kind == "array":
        return _arrow_lists(pyarrow, column, values)
    if kind in _ARROW:
        return pyarrow.array(values, getattr(pyarrow, _ARROW[kind])())
    return pyarrow.array([_address(value) for value in values], pyarrow.string())


def _arrow_lists(pyarrow, column, values):
    dtype, shape = column.type["dtype"], column.type["shape"]
    item = getattr(pyarrow, {"bool": "bool_"}.get(dtype, dtype))()
    for length in reversed(shape):
        item = pyarrow.list_(item) if length is None else pyarrow.list_(item, length)
    lists = [value.tolist() if hasattr(value, "tolist") else value for value in values]
    return pyarrow.array(lists, item)


def _address(value):
    if type(value) is File:
        return exported_address(value.cell)
    return None if value is None else str(value)
