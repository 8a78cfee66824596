from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from . import NamedQuery, TableModel

_F = TypeVar("_F", bound=Callable[..., Any])

class SqlExport:
    """Where a route also writes the outputs of a stored row: a table of another PostgreSQL database."""

    def __init__(
        self,
        *,
        db_connect: str,
        table: str,
        db_schema: str | None = None,
        method: Literal["insert", "update", "merge"] = "insert",
    ) -> None: ...

class Background:
    """How the jobs of a route are done: attempts that may fail, and seconds for which a result is told after its end."""

    attempts: int
    expires: int
    def __init__(self, attempts: int = 1, expires: int = 86_400) -> None: ...

class Router:
    """The routes of one service. Its name is `name`, or the variable that holds the router."""

    def __init__(
        self,
        name: str | None = None,
        prefix: str = "",
        tags: Sequence[str] | None = None,
        cors: Cors | Sequence[str] | str | None = None,
    ) -> None: ...
    def include_router(self, router: Router, prefix: str = "", tags: Sequence[str] | None = None) -> None:
        """Takes the routes of another router in, their paths behind `prefix`; that is then no service of its own."""
    def add_insert_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        on_error: Literal["abort", "ignore"] = "abort",
        export_sql: SqlExport | None = None,
        background: bool | Background = False,
    ) -> None:
        """Serves POST `path`: stores one row and answers its `outputs`, computed columns included.

        With `on_error="ignore"` a row is stored although a computed column fails: that cell is null, its error kept.
        """
    def add_compute_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        background: bool | Background = False,
    ) -> None:
        """Serves POST `path`: computes `outputs` from `inputs` and stores nothing."""

    def add_update_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        on_error: Literal["abort", "ignore"] = "abort",
        export_sql: SqlExport | None = None,
        background: bool | Background = False,
    ) -> None:
        """Serves POST `path`: changes the row of a key and answers its `outputs`. What a body leaves out keeps its value."""
    def add_delete_route(
        self,
        model: type[TableModel],
        path: str,
        match_columns: Sequence[Any] | None = None,
        background: bool | Background = False,
    ) -> None:
        """Serves POST `path`: deletes the rows with all values of a body and answers `{"num_rows": n}`."""
    def insert_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        on_error: Literal["abort", "ignore"] = "abort",
        export_sql: SqlExport | None = None,
        background: bool | Background = False,
    ) -> Callable[[_F], _F]:
        """An insert route whose answer is what the function makes of the outputs, before the row is stored."""
    def update_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        on_error: Literal["abort", "ignore"] = "abort",
        export_sql: SqlExport | None = None,
        background: bool | Background = False,
    ) -> Callable[[_F], _F]:
        """An update route whose answer is what the function makes of the outputs, before the row is changed."""
    def compute_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        background: bool | Background = False,
    ) -> Callable[[_F], _F]:
        """A compute route whose answer is what the function makes of the outputs."""
    def add_query_route(
        self,
        path: str,
        query: NamedQuery[...],
        inputs: Sequence[str] | None = None,
        one_row: bool = False,
        method: Literal["post", "get"] = "post",
        background: bool | Background = False,
    ) -> None:
        """Serves `path`: runs a query and answers `{"rows": [...]}`, one object with `one_row`, a list when scalar."""
    def get(
        self,
        path: str,
        *,
        tags: Sequence[str] | None = None,
        summary: str | None = None,
        description: str | None = None,
        deprecated: bool | None = None,
        include_in_schema: bool = True,
        status_code: int | None = None,
        response_model: Any = None,
        response_description: str | None = None,
        timeout: float | None = None,
        name: str | None = None,
    ) -> Callable[[_F], _F]:
        """Serves GET `path` by the function: its arguments come from path and URL. `timeout` is in seconds."""
    def post(
        self,
        path: str,
        *,
        tags: Sequence[str] | None = None,
        summary: str | None = None,
        description: str | None = None,
        deprecated: bool | None = None,
        include_in_schema: bool = True,
        status_code: int | None = None,
        response_model: Any = None,
        response_description: str | None = None,
        timeout: float | None = None,
        name: str | None = None,
    ) -> Callable[[_F], _F]:
        """Serves POST `path` by the function: its arguments come from path, URL and body. `timeout` is in seconds."""
    def put(
        self,
        path: str,
        *,
        tags: Sequence[str] | None = None,
        summary: str | None = None,
        description: str | None = None,
        deprecated: bool | None = None,
        include_in_schema: bool = True,
        status_code: int | None = None,
        response_model: Any = None,
        response_description: str | None = None,
        timeout: float | None = None,
        name: str | None = None,
    ) -> Callable[[_F], _F]:
        """Serves PUT `path` by the function: its arguments come from path, URL and body. `timeout` is in seconds."""
    def patch(
        self,
        path: str,
        *,
        tags: Sequence[str] | None = None,
        summary: str | None = None,
        description: str | None = None,
        deprecated: bool | None = None,
        include_in_schema: bool = True,
        status_code: int | None = None,
        response_model: Any = None,
        response_description: str | None = None,
        timeout: float | None = None,
        name: str | None = None,
    ) -> Callable[[_F], _F]:
        """Serves PATCH `path` by the function: its arguments come from path, URL and body. `timeout` is in seconds."""
    def delete(
        self,
        path: str,
        *,
        tags: Sequence[str] | None = None,
        summary: str | None = None,
        description: str | None = None,
        deprecated: bool | None = None,
        include_in_schema: bool = True,
        status_code: int | None = None,
        response_model: Any = None,
        response_description: str | None = None,
        timeout: float | None = None,
        name: str | None = None,
    ) -> Callable[[_F], _F]:
        """Serves DELETE `path` by the function: its arguments come from path, URL and body. `timeout` is in seconds."""

FastAPIRouter = Router

class Cors:
    """Which pages of other origins a browser lets call a service; `max_age` is in seconds."""

    def __init__(
        self,
        origins: Sequence[str] | str,
        methods: Sequence[str] | str | None = None,
        headers: Sequence[str] | str | None = None,
        credentials: bool = False,
        max_age: int = 600,
    ) -> None: ...

class Body(bytes):
    """The bytes of a body; called, as handlers for FastAPI do, they are given once more."""

    def __call__(self) -> Any: ...

class Request:
    """A request, as a handler with a parameter of this type gets it. `body` are its bytes, whole. What `json()`, `text()`
    and `body()` return is awaited in an `async def` handler."""

    method: str
    path: str
    path_params: dict[str, str]
    headers: dict[str, str]
    query: dict[str, str]
    query_lists: dict[str, list[str]]
    client: tuple[str, int] | None
    id: str
    @property
    def body(self) -> Body:
        """The body's bytes; `await request.body()` gives them too."""
    @property
    def query_params(self) -> dict[str, str]:
        """The URL's parameters; of a repeated one the last."""
    def text(self) -> Any:
        """The body as text."""
    def json(self) -> Any:
        """The body's JSON value. What is no JSON is refused as a request that does not fit."""

_Content = str | bytes | Iterable[Any] | AsyncIterable[Any] | None

class Response:
    """An answer in all its parts. Content that yields pieces is sent piece by piece."""

    def __init__(
        self,
        content: _Content = None,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        media_type: str | None = None,
    ) -> None: ...

class StreamingResponse(Response): ...

class JSONResponse(Response):
    """Content is any value that JSON has."""

    def __init__(
        self,
        content: Any = None,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        media_type: str | None = None,
    ) -> None: ...

class PlainTextResponse(Response): ...
class HTMLResponse(Response): ...

class RedirectResponse(Response):
    """Sends the client to another address."""

    def __init__(self, url: str, status_code: int = 307, headers: Mapping[str, str] | None = None) -> None: ...

class HTTPError(Exception):
    """Raised in a handler: the request is answered with this status. `detail` says why; text, or any JSON."""

    status_code: int
    detail: Any
    headers: dict[str, str]
    def __init__(self, status_code: int, detail: Any = None, headers: Mapping[str, str] | None = None) -> None: ...

HTTPException = HTTPError
