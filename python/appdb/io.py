"""Tables to files and back: `from appdb.io import export_parquet, import_csv`."""

import csv
import errno
import io
import json
import os
from binascii import b2a_base64
from contextlib import contextmanager

from appdb.declare.arguments import checked

#: Bytes of Arrow data in a row group.
_GROUP_BYTES = 16 << 20

_NOT_OFFERED = {
    "export_sql": "An insert route writes rows to another database: export_sql= of add_insert_route().",
    "export_lancedb": "Give LanceDB the result: lancedb.connect(uri).create_table(name, docs.collect().to_arrow())",
    "export_iceberg": "Give pyiceberg the result: docs.collect().to_arrow()",
    "export_images_as_fo_dataset": "Read the rows: for row in docs.cursor(): ...",
    "create_label_studio_project": "Read the rows: for row in docs.cursor(): ...",
    "import_sql": "Read the statement with pandas: create_table(path, source=pandas.read_sql(statement, connection))",
}


@checked
def export_parquet(table_or_query, parquet_path, partition_size_bytes=100_000_000, inline_images=False):
    """Writes rows as Parquet: one file if the path ends in `.parquet`, otherwise files in a new folder."""
    from appdb.client.rows.arrow_values import marked_schema
    from appdb.client.rows.frames import need

    if inline_images:
        raise _refused("export_parquet(inline_images=True)", "Files are written as addresses: omit inline_images.")
    parquet = need("pyarrow.parquet", "export_parquet()")
    path = os.fspath(parquet_path)
    columns, batches, close = _query_of(table_or_query).arrow_batches()
    schema = marked_schema(columns, batches.schema, is_file=True)
    try:
        if path.lower().endswith(".parquet"):
            with _replaced(path) as part, parquet.ParquetWriter(part, schema) as writer:
                for table in _grouped(batches, _GROUP_BYTES):
                    writer.write_table(table)
            return
        with _writing(path):
            os.makedirs(path)
        _write_parts(parquet, path, batches, schema, partition_size_bytes)
    finally:
        close()


@checked
def export_csv(table_or_query, file_path, *, delimiter=",", quoting=csv.QUOTE_MINIMAL):
    """Writes rows as CSV with a header. Lists and objects are JSON, files are addresses, bytes are base64."""
    from appdb.client.rows.frames import is_json

    cursor = _query_of(table_or_query).cursor()
    columns = cursor._columns
    try:
        with _replaced(os.fspath(file_path)) as part, open(part, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=delimiter, quoting=quoting)
            writer.writerow([column.name for column in columns])
            cells = [_json_text if is_json(column.kind) else _csv_cell for column in columns]
            for values in cursor.values():
                row = [cell(value) for cell, value in zip(cells, values)]
                if quoting == csv.QUOTE_MINIMAL and "" in row:
                    file.write(_line_with_empty_texts(row, delimiter))
                else:
                    writer.writerow(row)
    finally:
        cursor.close()


def _line_with_empty_texts(row, delimiter):
    """A line of CSV. An empty text has quotes, unlike None: the writer of Python writes both without."""

    def text(cell):
        if cell is None or cell == "":
            return "" if cell is None else '""'
        written = io.StringIO()
        csv.writer(written, delimiter=delimiter, lineterminator="").writerow([cell])
        return written.getvalue()

    return delimiter.join(map(text, row)) + "\r\n"


@checked
def export_json(table_or_query, file_path):
    """Writes rows as JSON, an object a line. Files are addresses, bytes are base64."""
    cursor = _query_of(table_or_query).cursor()
    names = [column.name for column in cursor._columns]
    try:
        with _replaced(os.fspath(file_path)) as part, open(part, "w", encoding="utf-8") as file:
            for values in cursor.values():
                file.write(json.dumps(dict(zip(names, map(_plain, values))), ensure_ascii=False, default=_text) + "\n")
    finally:
        cursor.close()


@checked
def import_csv(tbl_name, filepath_or_buffer, schema_overrides=None, primary_key=None, comment=None):
    """Creates a table of a CSV file with a header."""
    return _imported("import_csv", tbl_name, os.fspath(filepath_or_buffer), schema_overrides, primary_key, comment)


@checked
def import_json(tbl_path, filepath_or_url, *, schema_overrides=None, primary_key=None, comment=None):
    """Creates a table of a file of JSON, or of JSON lines."""
    return _imported("import_json", tbl_path, os.fspath(filepath_or_url), schema_overrides, primary_key, comment)


@checked
def import_parquet(table, *, parquet_path, schema_overrides=None, primary_key=None):
    """Creates a table of a Parquet file."""
    return _imported("import_parquet", table, os.fspath(parquet_path), schema_overrides, primary_key, None)


@checked
def import_excel(tbl_name, io, *, schema_overrides=None, primary_key=None, comment=None):
    """Creates a table of the first sheet of an Excel file."""
    return _imported("import_excel", tbl_name, os.fspath(io), schema_overrides, primary_key, comment)


@checked
def import_pandas(tbl_name, df, *, schema_overrides=None, primary_key=None, comment=None):
    """Creates a table of a DataFrame."""
    return _imported("import_pandas", tbl_name, df, schema_overrides, primary_key, comment)


@checked
def import_rows(tbl_path, rows, *, schema_overrides=None, primary_key=None, comment=None):
    """Creates a table of dicts."""
    return _imported("import_rows", tbl_path, rows, schema_overrides, primary_key, comment)


@checked
def import_huggingface_dataset(table_path, dataset, *, schema_overrides=None, primary_key=None):
    """Creates a table of one split of a dataset."""
    return _imported("import_huggingface_dataset", table_path, dataset, schema_overrides, primary_key, None)


def __getattr__(name):
    from appdb.declare.errors import UnknownAttribute, did_you_mean

    if name in _NOT_OFFERED:
        raise UnknownAttribute(f"appdb.io has no '{name}'.", _NOT_OFFERED[name])
    names = [one for one in globals() if one.startswith(("export_", "import_"))]
    raise UnknownAttribute(f"appdb.io has no '{name}'.", did_you_mean(name, names, f"It has {', '.join(names)}."))


def _refused(what, hint):
    from appdb.declare.errors import AppFileError

    return AppFileError(f"{what} is not supported.", hint)


def _imported(function, path, source, overrides, primary_key, comment):
    from appdb.client.api import create_table

    if overrides:
        raise _refused(f"{function}(schema_overrides=...)", "Declare the columns: create_table(path, {...}), then insert(source)")
    return create_table(path, source=source, primary_key=primary_key, comment=comment)


def _query_of(given):
    """The query of a table or a query. Raises AppFileError for anything else."""
    if hasattr(given, "arrow_batches"):
        return given
    if hasattr(given, "cursor") and hasattr(given, "select"):
        return given.select()
    raise _refused(f"An export of {type(given).__name__}", 'Give a table or a query: export_csv(db.get_table("main/docs"), path)')


def _json_text(value):
    """The cell of a Json column, which is read as JSON: a text has quotes."""
    return None if value is None else json.dumps(_plain(value), ensure_ascii=False)


def _csv_cell(value):
    value = _plain(value)
    if isinstance(value, (dict, list, bool)):
        return json.dumps(value, ensure_ascii=False)
    return _text(value) if hasattr(value, "isoformat") else value


def _plain(value):
    """A value that JSON has, a date or a UUID."""
    from appdb.client.cells import File, exported_address

    if type(value) is bytes:
        return b2a_base64(value, newline=False).decode()
    if type(value) is File:
        return exported_address(value.cell)
    return value.tolist() if hasattr(value, "tolist") else value


def _text(value):
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _grouped(batches, size):
    """Arrow tables of about so many bytes."""
    import pyarrow

    some, count = [], 0
    for batch in batches:
        some.append(batch)
        count += batch.nbytes
        if count >= size:
            yield pyarrow.Table.from_batches(some)
            some, count = [], 0
    if some:
        yield pyarrow.Table.from_batches(some)


def _write_parts(parquet, folder, batches, schema, size):
    number, written, writer = 0, 0, None
    try:
        for table in _grouped(batches, min(size, _GROUP_BYTES)):
            if writer is None or written >= size:
                if writer is not None:
                    writer.close()
                    number += 1
                writer = parquet.ParquetWriter(os.path.join(folder, f"part-{number:05}.parquet"), schema)
                written = 0
            writer.write_table(table)
            written += table.nbytes
        if writer is None:
            writer = parquet.ParquetWriter(os.path.join(folder, "part-00000.parquet"), schema)
    finally:
        if writer is not None:
            writer.close()


@contextmanager
def _writing(path):
    """Raises Error for a path that the system does not write."""
    from appdb.declare.errors import Error

    try:
        yield
    except FileExistsError as error:
        raise Error(f"{path} already exists.", "Name a new folder, or remove this one.", "file_exists") from error
    except FileNotFoundError as error:
        folder = os.path.dirname(os.path.abspath(path))
        raise Error(f"{path} cannot be written: there is no folder {folder}.", "Create the folder first.", "file_not_found") from error
    except OSError as error:
        code = "disk_full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "invalid_request"
        raise Error(f"{path} cannot be written: {error.strerror or error}.", "Name a file in a folder that you can write.", code) from error


@contextmanager
def _replaced(path):
    """The path of a file that gets its name when it is complete."""
    folder, name = os.path.split(path)
    part = os.path.join(folder, f".{name}.{os.getpid()}.part")
    try:
        with _writing(path):
            if os.path.isdir(path):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            yield part
            os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)
