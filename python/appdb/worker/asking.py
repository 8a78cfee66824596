"""Requests of handlers to the engine while they run: rows of a query, changes of a table's rows.

A plain function waits for the answer; an async one awaits it: `rows = await newest(5)`.
"""

import asyncio
from contextvars import ContextVar

from appdb.declare.errors import AppFileError, listed
from appdb.declare.types import display, manifest_type
from appdb.expressions.expr import shortened
from appdb.http.types import HTTPError
from appdb.kinds import rules
from appdb.udfs.calls import by_name
from appdb.values import decoder, encoder

present_call = ContextVar("appdb.call")  # The Call in progress, in its thread or task and those started there.


class Refused(HTTPError):
    """A request that the engine refused, with its `code` of the error catalogue. If not caught, it is the response."""

    def __init__(self, problem):
        super().__init__(problem["status"], problem["detail"])
        self.problem = problem
        self.code = problem["code"]


def worker_of_handlers():
    """The worker, when this process runs handlers; else None."""
    import sys

    module = sys.modules.get("appdb.http.worker")
    return None if module is None else module.HttpWorker.current


def ask_query(query, args, kwargs):
    """The rows of a query as a list of dicts, or of values with return_scalar. Raises Refused, AppFileError."""
    given = by_name(query.__name__, query.parameters, args, kwargs)
    values, types = {}, {}
    for parameter in query.parameters:
        if parameter.name in given:
            kind = types[parameter.name] = manifest_type(parameter.kind)
            values[parameter.name] = _argument(query, parameter, kind, given[parameter.name])
    return _waited({"t": "query", "query": query.id, "args": values, "types": types}, _rows)


def _argument(query, parameter, kind, value):
    """A parameter's value for the engine. Accepts the JSON text of a UUID, a date or a time. Raises Refused."""
    if value is None:
        return None
    try:
        if isinstance(value, str) and rules(parameter.kind).is_text_in_json:
            value = decoder(kind)(value)
        return encoder(kind)(value)
    except (TypeError, ValueError, OverflowError) as error:
        wanted = display(parameter.kind)
        detail = f"{query.__name__}() takes {wanted} as '{parameter.name}', not {shortened(repr(value), 60)}: {error}."
        raise Refused({"status": 422, "detail": detail, "code": "invalid_request"}) from error


def ask_write(table, verb, rows):
    """Inserts, updates or deletes rows of a table. Raises Refused, AppFileError."""
    from appdb.http.answers import to_json

    head = {
        "method": "POST",
        "scheme": "http",
        "path": "/",
        "root_path": "",
        "search": "",
        "headers": [("content-type", "application/json")],
        "params": {},
        "client": None,
        "id": "inside",
    }
    # A thread of the application itself has no request.
    call = present_call.get(None)
    if call is not None:
        head["id"] = call.head["id"]
    route = f"table {verb} {table.name}"
    # The code chooses these rows, not its caller; they are stored even if the client disconnects.
    frame = {"t": "route", "route": route, "request": head, "data": to_json(rows), "call": None, "caller": None}
    return _waited(frame, _answered)


def model_verb(table, name):
    """The implementation of `Model.insert`, `Model.update` and `Model.delete` in a handler. Raises AppFileError."""
    if table.view is not None:
        from appdb.declare.views import refused_change

        raise refused_change(table, f"{{}}.{name}(...)")

    def insert(rows):
        """Stores a row, or a list of rows: all of them or none. Returns the stored rows."""
        return ask_write(table, "insert", _checked(rows, "insert"))

    def update(values):
        """Changes the row with the key in `values`; omitted columns keep their values. Returns the row."""
        return ask_write(table, "update", _checked(values, "update", dict))

    def delete(**key):
        """Deletes the row with this key and returns the number of deleted rows."""
        names = [column.name for column in table.columns.values() if column.primary_key]
        if sorted(key) != sorted(names):
            raise AppFileError(
                f"{table.model}.delete() in a handler takes the key: {listed(names) or 'the table has none'}.",
                "Declare a delete route with match_columns= for other columns.",
            )
        return ask_write(table, "delete", key)

    def _checked(rows, verb, kinds=(dict, list)):
        if isinstance(rows, kinds):
            return rows
        raise AppFileError(
            f"{table.model}.{verb}() takes {'a dict' if kinds is dict else 'a dict or a list of dicts'}.",
            f"Write {table.model}.{verb}({{...}})",
        )

    return {"insert": insert, "update": update, "delete": delete}[name]


def _rows(frame):
    import json

    if frame["error"] is not None:
        error = frame["error"]
        raise Refused({"status": 400, "detail": error["message"], "code": error["code"]})
    return json.loads(frame["value"])


def _answered(frame):
    import json

    answer = json.loads(frame["data"])
    if frame["status"] >= 400:
        raise Refused(answer)
    return answer["num_rows"] if isinstance(answer, dict) and answer.keys() == {"num_rows"} else answer


def _waited(frame, finish):
    worker = worker_of_handlers()

    async def asked():
        return finish(await worker.ask(frame))

    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is worker.loop:
        return asked()
    return asyncio.run_coroutine_threadsafe(asked(), worker.loop).result()
