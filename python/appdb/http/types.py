"""Types for handlers: Request, Response and related classes, HTTPError."""

from appdb.declare.errors import AppFileError


class Headers(dict):
    """Headers by lower-case name, with case-insensitive lookup. Values of a repeated header are joined by a comma."""

    def __getitem__(self, name):
        return super().__getitem__(name.lower())

    def __contains__(self, name):
        return super().__contains__(name.lower())

    def get(self, name, default=None):
        """The value of a header, or the default."""
        return super().get(name.lower(), default)


class Body(bytes):
    """The bytes of a body. It is also callable, as in handlers for FastAPI: `await request.body()`."""

    is_async = False

    def __call__(self):
        """The bytes themselves; awaitable in an `async def` handler."""
        return _given(bytes, self, self.is_async)


class Request:
    """A request, for a handler with a parameter of this type. `body` has its whole bytes. In an `async def` handler,
    results of its methods are awaitable, like query results."""

    __slots__ = ("method", "path", "path_params", "headers", "query", "query_lists", "data", "client", "id", "is_async")

    def __init__(self, head, data, is_async=False):
        self.method = head["method"]
        self.path = head["path"]
        self.path_params = head["params"]
        self.headers = _headers(head["headers"])
        self.query_lists = _query(head["search"])
        self.query = {name: texts[-1] for name, texts in self.query_lists.items()}
        self.data = data
        self.client = None if head["client"] is None else tuple(head["client"])
        self.id = head["id"]
        self.is_async = is_async

    @property
    def query_params(self):
        """The URL's parameters; of a repeated one the last."""
        return self.query

    @property
    def body(self):
        """The body's bytes; `await request.body()` returns them too."""
        body = Body(self.data)
        body.is_async = self.is_async
        return body

    def text(self):
        """The body as text. Raises UnicodeDecodeError when it is not UTF-8."""
        return _given(bytes.decode, self.data, self.is_async)

    def json(self):
        """The body's JSON value. Invalid JSON is refused as an invalid request."""
        from appdb.http.handlers import json_of

        return _given(json_of, self, self.is_async)


def _given(read, source, is_async):
    return _later(read, source) if is_async else read(source)


async def _later(read, source):
    return read(source)


class Response:
    """A response in all its parts. `content` is text, bytes, or an iterator of them, which is streamed."""

    media_type = None

    def __init__(self, content=None, status_code=200, headers=None, media_type=None):
        if type(status_code) is not int or not 200 <= status_code <= 599:
            raise ValueError(f"status_code= is a number from 200 to 599, not {status_code!r}")
        self.content = content
        self.status_code = status_code
        self.headers = dict(headers or {})
        if media_type is not None:
            self.media_type = media_type


class StreamingResponse(Response):
    """A Response whose content is an iterator or an async iterator."""


class JSONResponse(Response):
    """A Response with any JSON value as content."""

    media_type = "application/json"


class PlainTextResponse(Response):
    """A Response of plain text."""

    media_type = "text/plain"


class HTMLResponse(Response):
    """A Response of HTML."""

    media_type = "text/html"


class RedirectResponse(Response):
    """Sends the client to another address."""

    def __init__(self, url, status_code=307, headers=None):
        super().__init__(None, status_code, {**(headers or {}), "location": str(url)})


class HTTPError(Exception):
    """Raise it in a handler to answer with this status. `detail` is the reason: text, or any JSON."""

    def __init__(self, status_code, detail=None, headers=None):
        if type(status_code) is not int or not 400 <= status_code <= 599:
            raise ValueError(f"the status of an error is a number from 400 to 599, not {status_code!r}")
        super().__init__(status_code, detail)
        self.status_code = status_code
        self.detail = detail
        self.headers = dict(headers or {})


def _headers(pairs):
    found = Headers()
    for name, value in pairs:
        before = dict.get(found, name)
        found[name] = value if before is None else f"{before}, {value}"
    return found


def _query(search):
    if not search:
        return {}
    from urllib.parse import parse_qs

    return parse_qs(search, keep_blank_values=True, errors="replace")  # Node limits it to 16 KiB.


def no_websockets(what):
    """The error for a declared WebSocket."""
    return AppFileError(
        f"{what} would be a WebSocket, which services do not support.",
        "For updates, open a query route as a live query: GET it with the header accept: text/event-stream",
    )
