from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

from . import NamedQuery, TableModel

_F = TypeVar("_F", bound=Callable[..., Any])

class Router:
    """The routes of one service. Its name is `name`, or the variable that holds the router."""

    def __init__(self, name: str | None = None, prefix: str = "") -> None: ...
    def add_insert_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        on_error: Literal["abort", "ignore"] = "abort",
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
    ) -> None:
        """Serves POST `path`: computes `outputs` from `inputs` and stores nothing."""

    def add_update_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        on_error: Literal["abort", "ignore"] = "abort",
    ) -> None:
        """Serves POST `path`: changes the row of a key and answers its `outputs`. What a body leaves out keeps its value."""
    def add_delete_route(
        self,
        model: type[TableModel],
        path: str,
        match_columns: Sequence[Any] | None = None,
    ) -> None:
        """Serves POST `path`: deletes the rows with all values of a body and answers `{"num_rows": n}`."""
    def insert_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        on_error: Literal["abort", "ignore"] = "abort",
    ) -> Callable[[_F], _F]:
        """An insert route whose answer is what the function makes of the outputs, before the row is stored."""
    def update_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
        on_error: Literal["abort", "ignore"] = "abort",
    ) -> Callable[[_F], _F]:
        """An update route whose answer is what the function makes of the outputs, before the row is changed."""
    def compute_route(
        self,
        model: type[TableModel],
        path: str,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
    ) -> Callable[[_F], _F]:
        """A compute route whose answer is what the function makes of the outputs."""
    def add_query_route(
        self,
        path: str,
        query: NamedQuery[...],
        inputs: Sequence[str] | None = None,
        one_row: bool = False,
        method: Literal["post", "get"] = "post",
    ) -> None:
        """Serves `path`: runs a query and answers `{"rows": [...]}`, one object with `one_row`, a list when scalar."""

FastAPIRouter = Router
