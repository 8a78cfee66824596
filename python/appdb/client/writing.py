"""Rows that are written: insert, update, delete, recompute."""

import re
import tempfile

from appdb.client.broken import DELETE, INSERT, UPDATE, fill_of
from appdb.client.code import request_code
from appdb.client.rows.encoding import encoded_rows, json_bytes, local_file, media_columns
from appdb.client.progress import Progress, tell_that_it_continues
from appdb.client.refusals import refused_rows
from appdb.client.rows.row_body import row_body
from appdb.client.rows.row_names import Naming, StoredColumns
from appdb.client.rows.sources import source_of
from appdb.declare.body import is_media
from appdb.declare.constants import wire_value
from appdb.declare.errors import AppFileError, Error, did_you_mean, listed
from appdb.declare.types import display, manifest_type
from appdb.expressions.expr import Expr, cast, null
from appdb.kinds import rules
from appdb.queries.query_nodes import refuse_constant
from appdb.values import decoder

#: Rows or keys in one request of an update or a delete.
_MOST = 10_000
#: Rows whose files are uploaded together.
_MEDIA_ROWS = 50


class UpdateStatus:
    """What a write did: `num_rows` inserted, changed or deleted rows, `num_excs` failed cells, and `rows` if asked for."""

    def __init__(self, verb, num_rows, num_excs=0, rows=None):
        self.verb = verb
        self.num_rows = num_rows
        self.num_excs = num_excs
        self.rows = rows

    def __repr__(self):
        failed = f", {self.num_excs} failed cell{'' if self.num_excs == 1 else 's'}" if self.num_excs else ""
        return f"<{self.verb} {self.num_rows} {'row' if self.num_rows == 1 else 'rows'}{failed}>"


class ColumnsAdded(UpdateStatus):
    """What add_column() did: it adds columns and changes no value of a row."""

    def __init__(self, names):
        super().__init__("added", 0)
        self._names = names

    def __repr__(self):
        if not self._names:
            return "<added no column>"
        return f"<added the {'column' if len(self._names) == 1 else 'columns'} {', '.join(self._names)}>"


def insert(table, rows, values, on_error, return_rows, columns):
    """Inserts rows of any source. Raises Error; then no row was inserted."""
    check_on_error(on_error)
    _refuse_view(table, "insert")
    if rows is None and not values:
        raise Error("insert() is given no rows.", 'Write insert(title="a"), or insert([{"title": "a"}])')
    if rows is not None and values:
        name = next(iter(values))
        hint = did_you_mean(name, ("on_error", "return_rows", "columns"), "Give it rows, or the values of one row.")
        raise Error(f"insert() is given rows and {name}=.", hint)
    refs = StoredColumns(table)
    source = source_of(values if rows is None else rows, refs, columns)
    try:
        return _inserted(table, source, refs, on_error, return_rows)
    except Error as error:
        raise refused_rows(error, table, source) from error


def _inserted(table, source, refs, on_error, return_rows):
    given = source.rows
    progress = Progress(f"insert into {table.path}", source.total)
    count = RowCount(progress)
    with tempfile.TemporaryDirectory(prefix="appdb-insert-") as folder:
        media = media_columns(refs)
        if media:
            given = with_uploads(table, given, media, folder)
        query = {"on_error": on_error, "return_rows": "1" if return_rows else "0"}
        path = table.__appdb_database__.table_path(table._path, "/rows")
        data, headers = row_body(table.__appdb_database__.connection, path, given, refs, source, count, {"return_rows": "0"})
        with table.__appdb_database__.connection.send("POST", path, data, query, headers, INSERT) as answer:
            found = list(answer.lines())
            failed = _failed_cells(answer.headers.get("x-cell-errors") or "")
    progress.end()
    if return_rows:
        return UpdateStatus("inserted", len(found), failed, [decoded(row, refs) for row in found])
    (written,) = found or [{}]
    return UpdateStatus("inserted", written.get("inserted", written.get("num_rows", count.rows)), written.get("errors", 0))


class RowCount:
    """Shows the number of rows so far every 1,000 rows."""

    def __init__(self, progress):
        self.rows = 0
        self._progress = progress

    def __call__(self, rows):
        before, self.rows = self.rows, rows
        if rows // 1000 > before // 1000:
            self._progress.at(rows)


def refuse_keywords(table, values, unknown):
    """Refuses new values as keywords of update(): its options have such names."""
    known = [name for name in unknown if name.lower() in table.__appdb_table__.columns]
    if known or values is None:
        name = known[0] if known else "title"
        value = repr(unknown[name])[:60] if known else '"b"'
        raise Error(
            "update() takes a dict of new values.", f'Write {table._name}.update({{"{name}": {value}}}, where=...)'
        )


def update(table, values, where, on_error):
    """Changes the rows of a condition."""
    check_on_error(on_error)
    _refuse_view(table, "update")
    if not isinstance(values, dict) or not values:
        raise Error("update() takes a dict of new values.", f'Write {table._name}.update({{"title": "b"}}, where=...)')
    Naming().columns(values, "update()")
    changes = {name: _new_value(table, name, value) for name, value in values.items()}
    callers = [("update()", expr) for expr in (*changes.values(), _condition(table, where)) if expr is not None]
    _refuse_functions(table, callers)
    body = {
        "where": _node(table, where),
        "set": {name.lower(): expr._node for name, expr in changes.items()},
        "on_error": on_error,
    }
    return _written(table, "PATCH", "/rows", body, "updated")


def batch_update(table, rows, if_not_exists, on_error):
    """Changes rows by their keys, up to 10,000 in one transaction."""
    check_on_error(on_error)
    _refuse_view(table, "batch_update")
    if if_not_exists not in ("error", "ignore", "insert"):
        raise Error(f"if_not_exists= is 'error', 'ignore' or 'insert', not {if_not_exists!r}.", "Leave it out for 'error'.")
    refs = StoredColumns(table)
    source = source_of(rows, refs)
    total = UpdateStatus("updated", 0)
    end = b'],"if_not_exists":"%s","on_error":"%s"}' % (if_not_exists.encode(), on_error.encode())
    with tempfile.TemporaryDirectory(prefix="appdb-update-") as folder:
        media = media_columns(refs)
        given = with_uploads(table, source.rows, media, folder) if media else source.rows
        for piece in _pieces(encoded_rows(given, refs, source.is_frame, lambda _: None)):
            done = _written(table, "PATCH", "/rows", b'{"rows":[' + b",".join(piece) + end, "updated")
            total.num_rows += done.num_rows
            total.num_excs += done.num_excs
    return total


def delete(table, where):
    """Deletes the rows of a condition, or all rows."""
    _refuse_view(table, "delete")
    _refuse_functions(table, [("delete()", _condition(table, where))])
    return _written(table, "POST", "/rows/delete", {"where": _node(table, where)}, "deleted")


def recompute(table, columns, errors_only, cascade, on_error):
    """Recomputes computed columns. Raises Error."""
    if on_error is None:
        on_error = "ignore" if errors_only else "abort"
    check_on_error(on_error)
    names = [column if isinstance(column, str) else column._name for column in columns]
    known = [name for name, column in table.__appdb_table__.columns.items() if column.value is not None]
    for name in names:
        if name not in known:
            raise Error(
                f"'{name}' is not a computed column of {table.path}.",
                did_you_mean(name, known, f"Its computed columns are {listed(known)}." if known else "It has none."),
                "column_not_found",
            )
    database = table.__appdb_database__
    body = {"columns": names, "cascade": cascade, "on_error": on_error, "errors_only": errors_only}
    progress, job = Progress(f"recompute {table.path}"), None

    def at(line):
        nonlocal job
        job = line.get("job", job)
        progress.at(line["rows_done"], line["rows_total"])

    if database.is_local:
        body = {"table": f"{database.target.database}/{table._path}", **body, "runtime": None}
        path = "//v1/recompute"
    else:
        body, path = {"table": table._path, **body}, "/recompute"
    try:
        done = database.connection.events(
            path,
            body,
            at,
            fill_of("the recompute", database.target.text),
        )
    except KeyboardInterrupt:
        tell_that_it_continues(f"recompute {table.path}", database.target.text, job)
        raise
    progress.end()
    return UpdateStatus("recomputed", done["result"]["rows_done"], done["result"]["errors"])


def _written(table, method, rest, body, verb):
    connection = table.__appdb_database__.connection
    path = table.__appdb_database__.table_path(table._path, rest)
    data = body if isinstance(body, bytes) else json_bytes(body)
    write = DELETE if verb == "deleted" else UPDATE
    with connection.send(method, path, data, None, {"content-type": "application/json"}, write) as answer:
        written = answer.json()
    return UpdateStatus(verb, written[verb] + (written.get("inserted", 0) if verb == "updated" else 0), written.get("errors", 0))


def _new_value(table, name, value):
    column = table.__appdb_table__.columns.get(name.lower()) if isinstance(name, str) else None
    if column is None:
        known = table.columns()
        raise Error(
            f"{table.path} has no column '{name}'.",
            did_you_mean(str(name), known, f"Its columns are {listed(known)}."),
            "column_not_found",
        )
    if column.value is not None:
        raise Error(f"'{name}' is computed and is not changed by hand.", "Change the columns that it reads.")
    kind = column.ref._kind
    if isinstance(value, Expr):
        return cast(value, kind)
    if value is None:
        return null(kind)
    if is_media(kind):
        raise Error(
            f"update() gives many rows one value, and '{name}' is {display(kind)}: each row has a file of its own.",
            f'Name rows by their keys: {table._name}.batch_update([{{"id": 1, "{name}": {value!r:.80}}}])',
        )
    try:
        wire = wire_value(kind, value)
    except (TypeError, ValueError, OverflowError) as error:
        raise Error(f"{value!r:.80} does not fit the column '{name}', which is {display(kind)}: {error}.", "Give it another value.") from None
    return Expr(kind, False, {"node": "literal", "value": wire, "type": manifest_type(kind)}, repr(value))


def _condition(table, where):
    if where is None or isinstance(where, str):
        return None
    refuse_constant("where=", where, table)
    if not isinstance(where, Expr) or where._kind != "bool":
        raise Error(f"where= is a condition, not {where!r:.80}.", f"Compare a column: where={table._name}.n > 1")
    for ref in where._reads:
        if ref._owner is not table.__appdb_table__:
            raise AppFileError(
                f"where= reads '{ref._name}' of {ref._owner.model}.", f"Read columns of {table._name} only."
            )
    return where


def _node(table, where):
    """The condition in a request: a tree, or a text as the command takes it (`score > 0.5`)."""
    if isinstance(where, str):
        if not where.strip():
            raise Error("where= is an empty text, which names no rows.", f"Leave it out for all rows of {table._name}.")
        return where
    where = _condition(table, where)
    return None if where is None else where._node


def _refuse_functions(table, callers):
    for _, expr in callers:
        if expr is not None and expr._functions:
            name = expr._functions[0].owner.__name__
            raise Error(
                f"The function {name} cannot run in an update or delete of {table.path}.",
                "Compute the values in the program, and write batch_update([...]).",
            )


def _refuse_view(table, verb):
    if table.__appdb_table__.view is not None:
        base = table.__appdb_table__.view.lineage[-1]
        raise Error(
            f"{table.path} is a view. Its rows come from the table {base.name}.",
            f'Write get_table("{table.__appdb_database__.target.path(base.name)}").{verb}(...)',
        )


def check_on_error(on_error):
    """Raises Error for another value than 'abort' and 'ignore'."""
    if on_error not in ("abort", "ignore"):
        raise Error(f"on_error= is 'abort' or 'ignore', not {on_error!r}.", "Leave it out for 'abort'.")


def with_uploads(table, rows, media, folder):
    """Rows with addresses in place of local files, whose content is uploaded first."""
    from appdb.uploads import upload

    for piece in _pieces(rows, _MEDIA_ROWS):
        piece = [dict(dict.items(row)) for row in piece]
        found = []
        for row in piece:
            for name in row:
                if name.lower() in media:
                    path = local_file(row[name], folder)
                    if path is not None:
                        found.append((row, name, path))
        addresses = upload(table.__appdb_database__.target.text, [path for _, _, path in found]) if found else []
        for (row, name, _), address in zip(found, addresses, strict=True):
            row[name] = address
        yield from piece


def _pieces(rows, most=_MOST):
    piece = []
    for row in rows:
        piece.append(row)
        if len(piece) == most:
            yield piece
            piece = []
    if piece:
        yield piece


def _failed_cells(header):
    """The number of failed cells in a header: `fare;rows=3, tax;type="CellError"`."""
    items = re.findall(r'(?:"(?:[^"\\]|\\.)*"|[^",])+', header)
    counts = [re.search(r";rows=(\d+)$", item) for item in items]
    return sum(1 if count is None else int(count[1]) for count in counts)


def decoded(row, refs):
    """A stored row as Python objects: a response has JSON."""
    found = {}
    for name, value in row.items():
        kind = refs[name]._kind if name in refs and value is not None else None
        if kind == "binary":
            value = rules(kind).from_literal(value, kind)
        found[name] = decoder(kind)(value) if kind in ("timestamp", "date", "uuid") else value
    return found
