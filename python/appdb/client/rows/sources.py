"""What insert() and compute() take: each source becomes an iterator of dicts, read piece by piece."""

import dataclasses
import os
import stat

from appdb.client.rows.arrow_values import types_of
from appdb.client.rows.frames import decoded_rows, has_arrow
from appdb.client.refusals import Places, row_number
from appdb.client.rows.csv_cells import Base64
from appdb.client.rows.row_names import Naming, folded
from appdb.declare.errors import Error, listed
from appdb.kinds import rules

_PIECE = 10_000


class Source:
    """Rows of a source. `total` is their number if it is known; `is_frame`: a NaN means null.

    `pieces`: the function that gives the same rows as pieces of columns, for a size; None: only dicts are known.
    `place`: the function from a row's number to its place for people. `reopened`: of a file of texts, the function that
    reads it again by columns, with a hint for a text that does not fit. `hint`: the next step after a refusal.
    `types`: the types that the source is marked with, by column. `null_types`: those of columns without any value."""

    def __init__(
        self, rows, total=None, is_frame=False, pieces=None, place=row_number, reopened=None, hint=None, types=None, null_types=None
    ):
        self.rows = rows
        self.total = total
        self.is_frame = is_frame
        self.pieces = pieces
        self.place = place
        self.reopened = reopened
        self.hint = hint
        self.types = types or {}
        self.null_types = null_types or {}


def source_of(given, columns, names=None):
    """The rows of what insert() or compute() was given, under the names of columns. Raises Error.

    `columns`: references of the table's columns by name. `names`: {name in the source: column}."""
    if isinstance(given, Source):
        return given
    naming = Naming(names)
    if isinstance(given, (str, os.PathLike)):
        return _file(os.fspath(given), columns, naming)
    source = _of_program(given, columns, naming)
    pieces = source.pieces if naming.is_plain else None
    rows = naming.rows(source.rows, columns)
    return Source(rows, source.total, source.is_frame, pieces, types=source.types, null_types=source.null_types)


def _of_program(given, columns, naming):
    kind = type(given)
    module = kind.__module__.partition(".")[0]
    if isinstance(given, dict):
        return Source(iter([given]), 1)
    if hasattr(given, "cursor") and hasattr(given, "collect"):
        cursor = given.cursor()
        return Source(cursor, null_types=_read_types(cursor, naming))
    if module == "pandas" and kind.__name__ == "DataFrame":
        _check_frame(given.columns, naming, columns)
        return Source(_pandas_rows(given, columns), len(given), True, _pandas_pieces(given, columns))
    if module == "polars":
        frame = given.collect() if kind.__name__ == "LazyFrame" else given
        if has_arrow() and any(type(one).__name__ == "Extension" for one in frame.dtypes):
            return _of_program(frame.to_arrow(), columns, naming)
        _check_frame(frame.columns, naming, columns)
        pieces = _pieces([frame], "PolarsKind", columns) if has_arrow() else None
        return Source(_polars_rows(frame), frame.height, True, pieces)
    if module == "pyarrow":
        _check_frame(given.schema.names, naming, columns)
        batches = [given] if hasattr(given, "slice") else given
        pieces = _pieces(batches, "ArrowKind", columns)
        rows = _arrow_rows(given, columns, naming)
        return Source(rows, getattr(given, "num_rows", None), True, pieces, types=_types(given.schema, naming))
    if module == "datasets":
        return Source(_dataset_rows(given), None)
    if _is_object(given):
        return Source(iter([_as_dict(given)]), 1)
    if hasattr(given, "__iter__") and not isinstance(given, bytes):
        total = len(given) if hasattr(given, "__len__") else None
        return Source((_as_dict(row) for row in given), total)
    raise Error(
        f"Expected rows, got {kind.__name__}.",
        'Give a dict, a list of dicts, a DataFrame, or the path of a file: [{"title": "a"}]',
    )


def _is_object(given):
    return hasattr(given, "model_dump") or (dataclasses.is_dataclass(given) and not isinstance(given, type))


def _as_dict(row):
    if isinstance(row, dict):
        return row
    if hasattr(row, "model_dump"):
        return row.model_dump()
    if dataclasses.is_dataclass(row) and not isinstance(row, type):
        return {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    raise Error(
        f"A row is a dict, a dataclass or a pydantic object, not {type(row).__name__}.",
        'Write [{"title": "a"}, {"title": "b"}]',
    )


def _check_frame(names, naming, columns):
    """Raises Error for names that are not text, or that mean one column."""
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise Error(f"The frame has a column named {wrong!r}, which is not text.", 'Name its columns: frame.columns = ["title"]')
    naming.columns(names, "The frame", columns)


def _pandas_rows(frame, columns):
    names = list(frame.columns)
    for at in range(0, len(frame), _PIECE):
        piece = frame.iloc[at : at + _PIECE]
        lists = [_pandas_values(piece[name], columns.get(folded(name))) for name in names]
        for values in zip(*lists):
            yield dict(zip(names, values))


def _pandas_values(series, column):
    """Values as Python objects: NaN, NaT and NA are None, and numbers with nulls are whole in an Int column."""
    present = series.notna().tolist()
    values = series.astype(object).tolist()
    if column is not None and column._kind == "int":
        values = [int(v) if type(v) is float and v.is_integer() else v for v in values]
    return [value if there is True or there is None else None for value, there in zip(values, present)]


def _pandas_pieces(frame, columns):
    if not has_arrow():
        return None
    from appdb.client.rows.frame_pieces import PandasKind

    return _pieces([frame], PandasKind(_pandas_rows, _pandas_values), columns)


def _pieces(frames, kind, columns):
    """The function that cuts frames into pieces."""
    from appdb.client.rows import frame_pieces

    known = getattr(frame_pieces, kind)() if isinstance(kind, str) else kind
    return lambda size: frame_pieces.pieces_of(frames, known, columns, size)


def _polars_rows(frame):
    for piece in frame.iter_slices(_PIECE):
        yield from piece.to_dicts()


def _arrow_rows(given, columns, naming):
    batches = given.to_batches(max_chunksize=_PIECE) if hasattr(given, "to_batches") else [given]
    for batch in batches:
        yield from decoded_rows(batch, columns, naming.column)


def _types(schema, naming):
    """The types that a schema is marked with, by column. Files are not: their cells are addresses, which expire."""
    found = {naming.column(name): type for name, type in types_of(schema).items() if rules(type["kind"]).check is None}
    return {column: type for column, type in found.items() if column is not None}


def _read_types(cursor, naming):
    """The types of the columns of a query, by column. Stores and checks of files are those of the new table."""
    types = {naming.column(one.name): one.type for one in cursor._columns}
    return {name: type if rules(type["kind"]).check is None else {"kind": type["kind"]} for name, type in types.items()}


def _dataset_rows(given):
    if isinstance(given, dict):
        splits = list(given)
        raise Error(f"The dataset has splits: {listed(splits)}.", f'Insert one of them: dataset["{splits[0]}"]')
    features = given.features or {}
    labels = {name: feature for name, feature in features.items() if type(feature).__name__ == "ClassLabel"}
    for row in given:
        for name, feature in labels.items():
            if row[name] is not None:
                row[name] = feature.int2str(row[name])
        yield row


def _file(path, columns, naming):
    _check_file(path)
    from appdb.client.rows import text_files

    format = text_files.format_of(path)
    places = Places(path)
    if format == "csv":
        return _csv(path, columns, naming)
    if format in ("json", "jsonl"):
        if format == "json":
            places.count_rows()
            rows = naming.rows(text_files.json_rows(path), columns, places)
        else:
            rows = naming.rows(text_files.line_rows(path, places), columns, places)
        return Source(_with_base64(rows, columns), place=places)
    from appdb.client.rows import sheets

    if format == "parquet":
        parquet = sheets.parquet_file(path)
        schema = parquet.schema_arrow
        naming.columns(schema.names, path, columns)
        rows = _with_base64(naming.rows(_arrow_file_rows(parquet, path, columns, naming), columns), columns)
        return Source(rows, parquet.metadata.num_rows, True, types=_types(schema, naming))
    return Source(_with_base64(sheets.excel_rows(path, naming, places, columns), columns), place=places)


def _check_file(path):
    """Raises Error for what cannot be read several times from its beginning, and for a missing file."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise Error(f"There is no file {path}.", "Check its path.", "file_not_found") from None
    except (OSError, ValueError) as error:
        raise Error(f"{path!r} cannot be read: {error}.", "Use a file that you can read.") from None
    if stat.S_ISDIR(mode):
        raise Error(f"{path} is a folder.", "Insert its files one by one.", "file_not_found")
    if not stat.S_ISREG(mode):
        kinds = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
        kind = next((kind for is_one, kind in kinds if is_one(mode)), "a device")
        raise Error(f"{path} is {kind}. The library reads files only.", "Save its content as a file, and insert that.")
    if not os.access(path, os.R_OK):
        raise Error(f"{path} cannot be read: permission denied.", "Use a file that you can read.")


def _with_base64(rows, columns):
    """Rows of a file, in which texts of binary columns are base64."""
    binary = [name for name, column in columns.items() if column._kind == "binary"]
    if not binary:
        return rows
    return ({**row, **{name: Base64(row[name]) for name in binary if type(row.get(name)) is str}} for row in rows)


def _csv(path, columns, naming, hint=None):
    from appdb.client.rows.csv_files import CsvFile

    places = Places(path)
    rows = CsvFile(path, columns, naming, places, hint).rows()
    return Source(rows, place=places, hint=hint, reopened=lambda columns, hint: _csv(path, columns, naming, hint))


def _arrow_file_rows(parquet, path, columns, naming):
    from appdb.client.rows.sheets import reading_parquet

    batches = parquet.iter_batches(_PIECE)
    while True:
        with reading_parquet(path):
            batch = next(batches, None)
        if batch is None:
            return
        yield from decoded_rows(batch, columns, naming.column)
