"""The errors of requests: one class for each way to react, with the server's code, detail and hint."""

import json

from appdb.client.hints import for_program
from appdb.declare.errors import Error


class NotFoundError(Error):
    """A table, column, row or database does not exist."""


class ConflictError(Error):
    """The state of the database does not allow the request: the table exists, another request changed it."""


class AccessError(Error):
    """The credential is missing, or does not allow the request."""


class UnavailableError(Error):
    """The server or the database does not answer. The request may succeed later."""


_BY_STATUS = {
    **dict.fromkeys((401, 403), AccessError),
    **dict.fromkeys((404, 410), NotFoundError),
    **dict.fromkeys((409, 412), ConflictError),
    **dict.fromkeys((408, 429, 502, 503, 504, 507), UnavailableError),
}
#: Errors of fields that a message has; the server sends no more.
_SHOWN = 20


def error_of(problem, status=None):
    """The error of a problem document (RFC 9457), or of a status without one."""
    if not isinstance(problem, dict) or not isinstance(problem.get("detail"), str):
        return UnavailableError(f"The server answered with the status {status}.", None, "server_failed")
    status = problem.get("status", status)
    fields = [field for field in problem.get("errors") or () if isinstance(field, dict)]
    made = _BY_STATUS.get(status, Error)
    detail = problem["detail"]
    told = [_field_text(field) for field in fields[:_SHOWN] if str(field.get("detail")) not in detail]
    if told:
        detail = "\n".join([detail, *(f"  {text}" for text in told)])
    return made(detail, for_program(problem.get("hint")), problem.get("code", "server_failed"), fields)


def read_problem(text):
    """The problem document in a response's text; None for another text."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _field_text(field):
    """`/3/title` is the column title of the fourth row."""
    parts = str(field.get("pointer", "")).strip("/").split("/")
    place = "/".join(parts)
    if parts[0].isdigit():
        place = f"row {int(parts[0]) + 1}" + (f", column '{parts[1]}'" if len(parts) > 1 else "")
    return f"{place}: {field.get('detail')}" if place else str(field.get("detail"))
