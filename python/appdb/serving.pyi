from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from . import NamedQuery, TableModel

_F = TypeVar("_F", bound=Callable[..., Any])

class SqlExport:
    """The table of another PostgreSQL database to which a route also writes the outputs of a stored row."""

    def __init__(
        self,
        *,
        db_connect: str,
        table: str,
        db_schema: str | None = None,
        method: Literal["insert", "update", "merge"] = "insert",
    ) -> None: ...

class Background:
    """Settings of a route's jobs: maximum attempts, and the time in seconds for which a result is available."""

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
        """Includes the routes of another router, with their paths after `prefix`. It is then not a separate service."""
    # Made by `npm run docs` from the code it describes; a test compares the two.
    def add_insert_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        on_error: Literal["abort", "ignore"] = "abort",
        uploadfile_inputs: Sequence[Any] | None = None,
        return_fileresponse: bool | None = None,
        export_sql: SqlExport | None = None,
        background: bool | Background = False,
    ) -> None:
        """Serves POST `path`: stores one row and returns its `outputs`, including computed columns.

        `inputs` are the accepted fields, by default all columns that are not computed; `outputs` are all columns by
        default. `uploadfile_inputs` are media columns whose files come as parts of a form. With
        `return_fileresponse=True` the response is the file of the only output. A failed computed column refuses the row.
        With `on_error="ignore"` the row is stored, and the cell is null with its error. Raises AppFileError for unknown
        columns, missing required ones, and paths in use.
        """
    def add_compute_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        uploadfile_inputs: Sequence[Any] | None = None,
        return_fileresponse: bool | None = None,
        background: bool | Background = False,
    ) -> None:
        """Serves POST `path`: computes `outputs` from `inputs` and stores nothing. Defaults as in an insert route."""
    def add_update_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        on_error: Literal["abort", "ignore"] = "abort",
        uploadfile_inputs: Sequence[Any] | None = None,
        return_fileresponse: bool | None = None,
        export_sql: SqlExport | None = None,
        background: bool | Background = False,
    ) -> None:
        """Serves POST `path`: changes the row of a primary key and returns its `outputs`, by default all columns.

        A body has the key and any of `inputs`, by default all other columns that are not computed. Omitted fields keep
        their values; null clears. `uploadfile_inputs` are media columns whose files come as parts of a form. Dependent
        columns are recomputed. If that fails the row stays unchanged, or, with `on_error="ignore"`, the cell is null with
        its error. 404 if the row does not exist. Raises AppFileError for a model without a key, and for inputs of the key
        or computed ones.
        """
    def add_delete_route(
        self,
        model: type[TableModel],
        path: str,
        match_columns: Sequence[Any] | None = None,
        background: bool | Background = False,
    ) -> None:
        """Serves POST `path`: deletes the rows with all values of a body and returns `{"num_rows": n}`.

        A body has each of `match_columns`, by default the primary key; null matches rows without a value. Raises
        AppFileError for an empty list, and for a model without a key if no columns are named.
        """
    def insert_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        on_error: Literal["abort", "ignore"] = "abort",
        uploadfile_inputs: Sequence[Any] | None = None,
        return_fileresponse: bool | None = None,
        export_sql: SqlExport | None = None,
        background: bool | Background = False,
    ) -> Callable[[_F], _F]:
        """Decorator: an insert route whose response is the function's result.

        The function gets the outputs as keyword-only arguments, by default those that it names, before the row is
        stored: if it raises, nothing is stored. It is returned unchanged. Raises AppFileError like `add_insert_route`,
        and for parameters that are not outputs or have another type.
        """
    def update_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        on_error: Literal["abort", "ignore"] = "abort",
        uploadfile_inputs: Sequence[Any] | None = None,
        return_fileresponse: bool | None = None,
        export_sql: SqlExport | None = None,
        background: bool | Background = False,
    ) -> Callable[[_F], _F]:
        """Decorator: an update route whose response is the function's result. Otherwise like `insert_route`."""
    def compute_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        uploadfile_inputs: Sequence[Any] | None = None,
        return_fileresponse: bool | None = None,
        background: bool | Background = False,
    ) -> Callable[[_F], _F]:
        """Decorator: a compute route whose response is the function's result. Otherwise like `insert_route`."""
    def add_query_route(
        self,
        path: str,
        query: NamedQuery[...],
        inputs: Sequence[str] | None = None,
        one_row: bool = False,
        method: Literal["post", "get"] = "post",
        uploadfile_inputs: Sequence[Any] | None = None,
        return_fileresponse: bool | None = None,
        background: bool | Background = False,
    ) -> None:
        """Serves `path`: runs a function marked @query. Returns `{"rows": [...]}`, or a list for a scalar query.

        `inputs` are the parameters that a request can set, by default all. A part `{name}` of the path is one of them.
        `uploadfile_inputs` are parameters of media types whose files come as parts of a form. With `one_row=True` the
        response is the row itself: 404 without a row, 409 for several. With `return_fileresponse=True` it is the file of
        the selected value. `method` is "post" (parameters in the body) or "get" (in the URL). Raises AppFileError for
        unknown parameters and paths in use.
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
    """CORS rules: origins that may call a service from a browser; `max_age` is in seconds."""

    def __init__(
        self,
        origins: Sequence[str] | str,
        methods: Sequence[str] | str | None = None,
        headers: Sequence[str] | str | None = None,
        credentials: bool = False,
        max_age: int = 600,
    ) -> None: ...

class Body(bytes):
    """The bytes of a body. It is also callable, as in handlers for FastAPI."""

    def __call__(self) -> Any: ...

class Request:
    """A request, for a handler with a parameter of this type. `body` has its whole bytes. In an `async def` handler,
    await the results of `json()`, `text()` and `body()`."""

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
        """The body's bytes; `await request.body()` returns them too."""
    @property
    def query_params(self) -> dict[str, str]:
        """The URL's parameters; of a repeated one the last."""
    def text(self) -> Any:
        """The body as text."""
    def json(self) -> Any:
        """The body's JSON value. Invalid JSON is refused as an invalid request."""

_Content = str | bytes | Iterable[Any] | AsyncIterable[Any] | None

class Response:
    """A response in all its parts. Content that yields pieces is streamed."""

    def __init__(
        self,
        content: _Content = None,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        media_type: str | None = None,
    ) -> None: ...

class StreamingResponse(Response): ...

class JSONResponse(Response):
    """Any JSON value as content."""

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
    """Raise it in a handler to answer with this status. `detail` is the reason: text, or any JSON."""

    status_code: int
    detail: Any
    headers: dict[str, str]
    def __init__(self, status_code: int, detail: Any = None, headers: Mapping[str, str] | None = None) -> None: ...

HTTPException = HTTPError
