"""Queries that run: `docs.where(...).select(...).collect()`."""

import json

import msgpack

from appdb.client.cells import Column, row_decoder
from appdb.client.code import request_code, sent_with_code
from appdb.client.elsewhere import refuse_method, refuse_options
from appdb.client.errors import UnavailableError, error_of
from appdb.client.rows.frames import has_arrow, open_batches, read_stream
from appdb.client.results import Cursor, ResultSet
from appdb.declare.arguments import checked_methods
from appdb.declare.errors import AppFileError, Error
from appdb.expressions.files import FileAddress
from appdb.kinds import rules
from appdb.queries.query import Query

_MSGPACK = "application/msgpack"
#: Maximum size of a message. The server's messages are much smaller.
_MESSAGE_BYTES = 1 << 30
#: Longest time limit, in seconds: the server's numbers end there.
_MOST_S = 2_000_000


@checked_methods
class BoundQuery(Query):
    """A query over tables of a database, which runs. Immutable: each verb returns a new one."""

    __slots__ = ()

    @property
    def _database(self):
        return self._models[0].__appdb_database__

    def join(self, other, on=None, how="inner"):
        """Joins the rows of another table of the database: `docs.join(authors, on=docs.author == authors.id)`."""
        theirs = getattr(other, "__appdb_database__", None)
        if theirs is not None and theirs is not self._database:
            raise AppFileError(
                f"join() takes a table of {self._database.target.text}, not of {theirs.target.text}.",
                "Join tables of one database.",
            )
        if theirs is None and "__appdb_table__" in getattr(other, "__dict__", ()):
            raise AppFileError(
                f"join() takes a table, and the model {other.__name__} is bound to none.",
                f'Bind it: Base.bind_all("{self._database.target.text}"), or name its table: get_table(...)',
            )
        return super().join(other, on, how)

    def collect(self, timeout=None):
        """Runs the query and returns all its rows. `timeout` is in seconds."""
        has_files = any(rules(expr._kind).check is not None for _, expr in self._named())
        form = "plain" if has_files or not has_arrow() else "arrow"
        columns, messages, close = self._send(timeout, form)
        rows, streamed = [], []
        decode = row_decoder(columns, self._database.files)
        try:
            for message in messages:
                if "arrow" in message:
                    streamed.append(message["arrow"])
                else:
                    rows += _decoded(message, decode)
        finally:
            close()
        if streamed:
            return ResultSet(columns, None, read_stream(streamed))
        return ResultSet(columns, rows)

    def cursor(self, timeout=None):
        """Runs the query and returns an iterator over its rows, which uses the same memory for any number of them."""
        columns, messages, close = self._send(timeout, "plain")
        decode = row_decoder(columns, self._database.files)
        return Cursor(columns, (_decoded(message, decode) for message in messages), close)

    def arrow_batches(self, timeout=None):
        """Runs the query: (columns, reader of Arrow batches, function that ends it), in the same memory for any number of rows."""
        columns, messages, close = self._send(timeout, "arrow")
        try:
            return columns, open_batches(message["arrow"] for message in messages), close
        except BaseException:
            close()
            raise

    def head(self, n=10):
        """The first `n` rows."""
        return super().head(n).collect()

    def tail(self, n=10):
        """The last `n` rows, in the order of the query."""
        return super().tail(n).collect()

    def show(self, n=20):
        """Prints the first `n` rows."""
        print(super().head(n).collect())

    def count(self, timeout=None):
        """The number of rows. `timeout` is in seconds."""
        counted = super().count()
        return counted.collect(timeout)[0]["count"]

    def update(self, values=None, **options):
        """Changes the rows of where(): `docs.where(docs.n > 1).update({"n": docs.n + 1})`."""
        return self._of_rows("update").update(values, self._where, **options)

    def delete(self):
        """Deletes the rows of where()."""
        return self._of_rows("delete").delete(self._where)

    def recompute_columns(self, *columns, **options):
        """Recomputes columns of the table."""
        if self._where is not None:
            refuse_options("recompute_columns", {"where": self._where})
        return self._of_rows("recompute_columns").recompute_columns(*columns, **options)

    def explain(self):
        """The expression tree that is sent."""
        return self.document()

    def __iter__(self):
        return self.cursor()

    def __getattr__(self, name):
        if name in ("to_pandas", "to_arrow", "to_polars", "to_pydantic"):
            return lambda *args, **options: getattr(self.collect(), name)(*args, **options)
        refuse_method("A query", name)
        return super().__getattr__(name)

    def __repr__(self):
        names = ", ".join(model.__name__ for model in self._models)
        return f"<query over {names} of {self._database.target.text}: .collect() runs it>"

    def _refuse_value(self, *_):
        raise AppFileError("A query has no value until it runs.", "Run it: .collect(), .count() or .cursor()")

    __bool__ = __int__ = __len__ = __getitem__ = _refuse_value
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse_value
    __hash__ = object.__hash__

    def _of_rows(self, verb):
        """The table whose rows where() chooses. Raises AppFileError for a query with other verbs."""
        others = (self._joins, self._groups, self._order, self._bounds, self._selected, self._distinct, self._drawn)
        if any(others):
            raise AppFileError(
                f"{verb}() changes rows of one table, and the query has more than where().",
                f"Write {self._models[0].__name__}.where(...).{verb}(...)",
            )
        return self._models[0]

    def _send(self, timeout, form):
        document = self.document()
        addresses = {name: expr.asked for name, expr in self._named() if isinstance(expr, FileAddress)}
        database = self._database
        calls = [("the query", expr) for expr in self.expressions()]
        limit = {} if timeout is None else {"timeout_ms": _milliseconds(timeout)}

        def send(copied):
            code, documents = request_code(database, calls, lasts=False, copied=copied)
            body = code.sent.named({"query": document, **documents})
            return _send(database, {**body, **limit}, form, addresses)

        return sent_with_code(database, calls, send)


def _milliseconds(timeout):
    """A time limit in milliseconds. Raises Error."""
    is_number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if not is_number or not 0 < timeout <= _MOST_S:
        raise Error(f"timeout= is a number of seconds above 0, not {timeout!r:.60}.", "Write timeout=5, or omit it.")
    return max(1, round(timeout * 1000))


def _send(database, body, form, addresses):
    """Sends a query: (columns, iterator of messages, function that ends it). Raises Error."""
    headers = {"content-type": "application/json", "accept": _MSGPACK}
    data = json.dumps(body, allow_nan=False).encode()
    answer = database.connection.send("POST", "/query", data, {"rows": form}, headers)
    try:
        messages = _messages(answer)
        columns = [
            Column(column["name"], column["type"], column["nullable"], addresses.get(column["name"]))
            for column in next(messages)["columns"]
        ]
    except BaseException:
        answer.close()
        raise
    return columns, messages, answer.close


def _decoded(message, decode):
    rows = message["rows"]
    if decode is not None:
        decode(rows)
    return rows


def _messages(answer):
    """The messages of a result, without the last one. Raises Error if that one is an error, or is missing."""
    unpacker = msgpack.Unpacker(max_buffer_size=_MESSAGE_BYTES)
    for block in answer.blocks():
        unpacker.feed(block)
        for message in unpacker:
            if "done" in message:
                for _ in answer.blocks():
                    pass  # Up to the end of the body, so that the connection can be used again.
                return
            if "error" in message:
                raise error_of(message["error"])
            yield message
    raise UnavailableError(
        "The result was cut off: the server stopped or restarted.", "Run the query again.", "server_failed"
    )
