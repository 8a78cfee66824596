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
    # Made by `npm run docs` from the code it describes; a test compares the two.
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

        `inputs` are the accepted fields, by default all columns that are not computed; `outputs` are all columns by
        default. A computed column that fails refuses the row; with `on_error="ignore"` the row is stored, the cell is
        null, and its error is kept beside it. Raises AppFileError when a column is unknown, a needed one is left out, or
        the path is taken.
        """
    def add_compute_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        background: bool | Background = False,
    ) -> None:
        """Serves POST `path`: computes `outputs` from `inputs` and stores nothing. Defaults as of an insert route."""
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
        """Serves POST `path`: changes the row of a primary key and answers its `outputs`, by default all columns.

        A body is the key and any of `inputs`, by default all other columns that are not computed: what it leaves out
        keeps its value, null clears. What is computed from changed columns is computed again; if that fails the row stays
        as it was, or, with `on_error="ignore"`, the cell is null and its error is kept beside it. 404 where there is no
        such row. Raises AppFileError for a model without a key, and for inputs of the key or computed ones.
        """
    def add_delete_route(
        self,
        model: type[TableModel],
        path: str,
        match_columns: Sequence[Any] | None = None,
        background: bool | Background = False,
    ) -> None:
        """Serves POST `path`: deletes the rows that have all values of a body and answers `{"num_rows": n}`.

        A body names each of `match_columns`, by default the primary key; null finds rows without a value. Raises
        AppFileError for an empty list, and for a model without a key where no columns are named.
        """
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
        """Decorator: an insert route whose answer is what the function returns.

        The function is given the outputs as keyword-only arguments, by default those that it names, before the row is
        stored: if it raises, nothing is. It is returned unchanged. Raises AppFileError as `add_insert_route`, and for
        parameters that are no outputs or of another type.
        """
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
        """Decorator: an update route whose answer is what the function returns. As `insert_route` otherwise."""
    def compute_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        background: bool | Background = False,
    ) -> Callable[[_F], _F]:
        """Decorator: a compute route whose answer is what the function returns. As `insert_route` otherwise."""
    def add_query_route(
        self,
        path: str,
        query: NamedQuery[...],
        inputs: Sequence[str] | None = None,
        one_row: bool = False,
        method: Literal["post", "get"] = "post",
        background: bool | Background = False,
    ) -> None:
        """Serves `path`: runs a function marked @query and answers `{"rows": [...]}`, the bare list of a scalar query.

        `inputs` are the parameters that a request may give, by default all. With `one_row=True` the answer is the row
        itself: 404 where there is none, 409 where there are several. `method` is "post" (parameters in the body) or
        "get" (in the URL). Raises AppFileError for unknown parameters and paths that are taken.
        """
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
    # End of what `npm run docs` makes.

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
