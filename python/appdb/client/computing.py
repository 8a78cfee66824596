"""Rows that are computed and not stored: `docs.compute([{"title": "a"}])`."""

import tempfile

from appdb.client.progress import Progress
from appdb.client.refusals import refused_rows
from appdb.client.rows.encoding import media_columns
from appdb.client.rows.row_body import row_body
from appdb.client.rows.row_names import StoredColumns
from appdb.client.rows.sources import source_of
from appdb.client.writing import RowCount, check_on_error, decoded, with_uploads
from appdb.declare.errors import AppFileError, Error, did_you_mean, listed
from appdb.expressions.expr import ColumnRef

#: The member of a row with its failed cells.
_ERRORS = "_errors"


class ComputedRow(dict):
    """A computed row: a dict. `errors` has the failed cells by column: `{"errortype": ..., "errormsg": ...}`."""

    def __init__(self, values, errors):
        super().__init__(values)
        self.errors = errors


def compute(table, rows, values, outputs, on_error):
    """Computes rows of any source. Raises Error."""
    check_on_error(on_error)
    if rows is None and not values:
        raise Error("compute() is given no rows.", 'Write compute(title="a"), or compute([{"title": "a"}])')
    if rows is not None and values:
        raise Error(f"compute() is given rows and {next(iter(values))}=.", "Give it rows, or the values of one row.")
    query = {"on_error": on_error}
    if outputs is not None:
        query["outputs"] = ",".join(_names(table, outputs))
    # Rows of a view are made of rows of the table below all views.
    taken = table
    while (base := taken.get_base_table()) is not None:
        taken = base
    refs = StoredColumns(taken)
    source = source_of(values if rows is None else rows, refs)
    try:
        return _computed(table, source, refs, query)
    except Error as error:
        raise refused_rows(error, taken, source, "computed") from error


def _computed(table, source, refs, query):
    given = source.rows
    database = table.__appdb_database__
    progress = Progress(f"compute rows of {table.path}", source.total)
    shown = {name: column.ref for name, column in table.__appdb_table__.columns.items()}
    with tempfile.TemporaryDirectory(prefix="appdb-compute-") as folder:
        media = media_columns(refs)
        if media:
            given = with_uploads(table, given, media, folder)
        path = database.table_path(table._path, "/compute")
        data, headers = row_body(database.connection, path, given, refs, source, RowCount(progress), {})
        with database.connection.send("POST", path, data, query, headers) as answer:
            found = [_row(line, shown) for line in answer.lines()]
    progress.end()
    return found


def _row(line, refs):
    failed = line.pop(_ERRORS, None) or {}
    errors = {name: {"errortype": one["type"], "errormsg": one["message"]} for name, one in failed.items()}
    return ComputedRow(decoded(line, refs), errors)


def _names(table, outputs):
    """The names of the columns in `outputs`: texts, or references of the table."""
    if isinstance(outputs, (str, ColumnRef)):
        outputs = [outputs]
    known = table.columns()
    names = [_name(table, one, known) for one in outputs]
    if not names:
        raise Error("outputs= is empty.", "Name columns, or leave it out for all.")
    return names


def _name(table, one, known):
    if isinstance(one, ColumnRef):
        if one._owner is not table.__appdb_table__:
            raise AppFileError(
                f"outputs= names '{one._name}' of {one._owner.model}.", f"Name columns of {table._name} only."
            )
        return one._name
    if not isinstance(one, str):
        raise Error(f"outputs= has columns, not {one!r:.80}.", f'Write outputs=[{table._name}.{known[0]}] or ["{known[0]}"]')
    if one.lower() not in known:
        raise Error(
            f"{table.path} has no column '{one}'.",
            did_you_mean(one.lower(), known, f"Its columns are {listed(known)}."),
            "column_not_found",
        )
    return one.lower()
