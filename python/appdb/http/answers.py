"""Converts a handler's result or exception to the frames of a response."""

import re
from inspect import isasyncgen, isgenerator

from appdb.http.handlers import Refused
from appdb.http.types import HTTPError, JSONResponse, Response
from appdb.worker.failures import Missing, message_of, place_of

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_JSON = "application/json"


class Answer:
    """A status, headers as pairs, and a body: bytes, or an iterator or async iterator of bytes and texts."""

    __slots__ = ("status", "headers", "body")

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body


class BadAnswer(Exception):
    """A handler's result that cannot be sent."""


def answer_of(value, status=200, adapter=None):
    """The Answer for a handler's result. Raises BadAnswer with the problem."""
    if isinstance(value, Response):
        return _answer_of_response(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Answer(status, [("content-type", "application/octet-stream")], bytes(value))
    if isgenerator(value) or isasyncgen(value):
        return Answer(status, [], value)
    if status in (204, 304) and value is None:
        return Answer(status, [], b"")
    if adapter is not None:
        value = adapter(value)
    return Answer(status, [("content-type", _JSON)], to_json(value))


def _answer_of_response(response):
    content, media = response.content, response.media_type
    headers = checked_headers(response.headers.items())
    if isinstance(response, JSONResponse):
        body = to_json(content)
    elif content is None:
        body = b""
    elif isinstance(content, str):
        body, media = content.encode("utf-8", "replace"), media or "text/plain"
    elif isinstance(content, (bytes, bytearray, memoryview)):
        body, media = bytes(content), media or "application/octet-stream"
    elif hasattr(content, "__aiter__") or hasattr(content, "__iter__") and not isinstance(content, (dict, list, tuple, set)):
        body = content
    else:
        body, media = to_json(content), media or _JSON
    if media is not None and not any(name == "content-type" for name, _ in headers):
        is_text = media.startswith("text/") and "charset=" not in media
        headers += checked_headers([("content-type", f"{media}; charset=utf-8" if is_text else media)])
    return Answer(response.status_code, headers, body)


def checked_headers(pairs):
    """Checked headers, with names in lower case. Raises BadAnswer for anything that would end or split a line."""
    found = []
    for name, value in pairs:
        name, value = _latin(name).lower(), _latin(value)
        if not _TOKEN.fullmatch(name):
            raise BadAnswer(f"the header name {name[:60]!r} is not valid")
        if not _VALUE.fullmatch(value):
            raise BadAnswer(f"the header '{name}' holds a control character or one beyond ISO 8859-1")
        found.append((name, value.strip()))
    return found


def _latin(text):
    return text.decode("latin-1") if isinstance(text, (bytes, bytearray)) else str(text)


def to_json(value):
    """JSON bytes of a value, including dataclasses, pydantic models, times and enums. Raises BadAnswer."""
    import json

    try:
        text = json.dumps(value, default=_plain, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        return text.encode()
    except RecursionError:
        raise BadAnswer("what it returned is nested too deep, or in itself, for JSON") from None
    except (TypeError, ValueError) as error:
        raise BadAnswer(f"its result is not valid JSON: {error}") from None


def _plain(value):
    kind = type(value)
    if hasattr(value, "model_dump"):  # pydantic
        return value.model_dump(mode="json")
    if hasattr(kind, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in kind.__dataclass_fields__}
    if hasattr(value, "isoformat"):
        return value.isoformat()
    module = kind.__module__
    if module == "uuid" or module == "decimal" or module == "pathlib":
        return str(value)
    if any(base.__module__ == "enum" and base.__name__ == "Enum" for base in kind.__mro__):
        return value.value
    if isinstance(value, (set, frozenset)) or isgenerator(value):
        return list(value)
    if isinstance(value, (bytes, bytearray)):
        raise TypeError("it holds bytes")
    if kind.__module__ in ("appdb.queries.query", "appdb.expressions.expr", "appdb.declare.model"):
        raise TypeError("it holds a query that was not asked; a call of a function marked @db.query gives rows")
    raise TypeError(f"it holds a {kind.__name__}")


def piece_of(item):
    """One piece of a streamed body as bytes. Values other than text and bytes become lines of JSON."""
    if isinstance(item, str):
        return item.encode("utf-8", "replace")
    if isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    return to_json(item) + b"\n"


def media_of(item):
    """The content type of a stream without one, by its first piece."""
    if isinstance(item, str):
        return "text/plain; charset=utf-8"
    return "application/octet-stream" if isinstance(item, (bytes, bytearray, memoryview)) else "application/x-ndjson"


def failure_of(error, handler, root):
    """The engine's failure for an exception, and whether to log it."""
    import json

    failure, is_logged = _failure_of(error, handler, root)
    # Text that is not UTF-8, such as a file name, could not be sent.
    return json.loads(json.dumps(failure, ensure_ascii=False).encode("utf-8", "replace")), is_logged


def _failure_of(error, handler, root):
    if isinstance(error, Refused):
        return {**_failure(error.code, error.detail), "hint": error.hint, "errors": error.errors or None}, False
    problem = getattr(error, "problem", None)
    if isinstance(error, HTTPError) and problem is not None:  # The engine's own error, for a request of the handler.
        told = {name: problem[name] for name in ("hint", "errors", "meta") if problem.get(name) is not None}
        return {**_failure(problem["code"], problem["detail"]), **told}, False
    status = getattr(error, "status_code", None)
    if isinstance(error, HTTPError) or (type(status) is int and 400 <= status <= 599 and hasattr(error, "detail")):
        try:
            return _told(error, status), False
        except BadAnswer as bad:
            told = f"The handler {handler} raised {type(error).__name__} {status}, which cannot be sent: {bad}."
            return _failed(handler, "BadAnswer", told, None), True
    if isinstance(error, BadAnswer):
        return _failed(handler, "BadAnswer", f"The handler {handler} returned no response: {error}.", None), True
    if isinstance(error, Missing):
        return _failure("function_missing", f"The handler {handler} is missing: {error}."), True
    kind = type(error).__name__
    text = message_of(error)
    at = place_of(error, root)
    where = f" ({at})" if at else ""
    return _failed(handler, kind, f"The handler {handler} failed: {kind}: {text}{where}", at), True


def _told(error, status):
    detail, meta = error.detail, {}
    if not isinstance(detail, str):
        if detail is not None:
            import json

            meta = {"detail": json.loads(to_json(detail))}
        detail = meta["detail"].get("message") if isinstance(meta.get("detail"), dict) else None
        detail = detail if isinstance(detail, str) else ""
    headers = checked_headers((getattr(error, "headers", None) or {}).items())
    return {**_failure(None, detail), "status": status, "headers": headers, "meta": meta}


def _failed(handler, kind, detail, at):
    hint = "The service's log shows where it was raised." if at is None else "For details, see the service's log."
    return {**_failure("function_failed", detail), "hint": hint, "meta": {"function": handler, "type": kind, "at": at}}


def too_late(handler, limit):
    """The failure of a handler that exceeded its time limit."""
    failure = _failure("function_timeout", f"The handler {handler} ran longer than {limit:g} s.")
    return {**failure, "meta": {"function": handler, "timeout_s": limit}}


def _failure(code, detail):
    return {"code": code, "status": None, "detail": detail, "hint": None, "headers": [], "errors": None, "meta": {}}
