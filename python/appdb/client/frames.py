"""Results as frames of pandas, polars and Arrow, which `appdb[data]` installs."""

import importlib

from appdb.client.cells import File
from appdb.declare.errors import Error

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


def polars_frame(columns, rows):
    """A polars.DataFrame with the types of to_arrow()."""
    polars = need("polars", "to_polars()")
    return polars.from_arrow(arrow_table(columns, rows))


def _by_column(columns, rows):
    if not rows:
        return [[] for _ in columns]
    return [list(values) for values in zip(*rows)]


def _arrow_array(pyarrow, column, values):
    kind = column.kind
    if kind == "timestamp":
        return pyarrow.array(values, pyarrow.timestamp("us", "UTC"))
    if kind == "json":
        from appdb.values import to_json

        return pyarrow.array([None if value is None else to_json(value) for value in values], pyarrow.string())
    if kind == "array":
        return _arrow_lists(pyarrow, column, values)
    if kind in _ARROW:
        return pyarrow.array(values, getattr(pyarrow, _ARROW[kind])())
    return pyarrow.array([_address(value) for value in values], pyarrow.string())


def _arrow_lists(pyarrow, column, values):
    dtype, shape = column.type["dtype"], column.type["shape"]
    item = getattr(pyarrow, {"bool": "bool_"}.get(dtype, dtype))()
    for length in reversed(shape or [None]):
        item = pyarrow.list_(item) if length is None else pyarrow.list_(item, length)
    lists = [value.tolist() if hasattr(value, "tolist") else value for value in values]
    return pyarrow.array(lists, item if shape is not None else None)


def _address(value):
    if type(value) is File:
        return value.cell.get("url") or value.cell["address"]
    return None if value is None else str(value)
