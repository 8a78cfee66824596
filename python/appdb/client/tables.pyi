from typing import Any, Literal

from .. import TableModel
from .computing import ComputedRow
from .reading import BoundQuery
from .results import Cursor, ResultSet
from .writing import UpdateStatus

_OnError = Literal["abort", "ignore"]
_IfExists = Literal["error", "ignore", "replace"]
_IfNotExists = Literal["error", "ignore"]

class Table:
    """A table or view. Its columns are attributes: `docs.title`, or `docs["title"]` where a method has the name."""

    @property
    def path(self) -> str: ...
    def where(self, condition: Any) -> BoundQuery: ...
    def select(self, *values: Any, **named: Any) -> BoundQuery: ...
    def order_by(self, *values: Any, asc: bool = True) -> BoundQuery: ...
    def limit(self, n: int, offset: int | None = None) -> BoundQuery: ...
    def group_by(self, *values: Any) -> BoundQuery: ...
    def join(self, other: Table | type[TableModel], on: Any = None, how: str = "inner") -> BoundQuery: ...
    def distinct(self) -> BoundQuery: ...
    def sample(self, n: int | None = None, fraction: float | None = None, seed: int | None = None) -> BoundQuery: ...
    def collect(self, timeout: float | None = None) -> ResultSet: ...
    def cursor(self, timeout: float | None = None) -> Cursor: ...
    def head(self, n: int = 10) -> ResultSet: ...
    def tail(self, n: int = 10) -> ResultSet: ...
    def show(self, n: int = 20) -> None: ...
    def count(self, timeout: float | None = None) -> int: ...
    def insert(
        self,
        rows: Any = None,
        /,
        *,
        on_error: _OnError = "abort",
        return_rows: bool = False,
        columns: dict[str, str] | None = None,
        **values: Any,
    ) -> UpdateStatus:
        """Inserts rows: a dict, a list, keyword arguments, a DataFrame, the path of a file, a query."""
    def compute(
        self, rows: Any = None, /, *, outputs: Any = None, on_error: _OnError = "abort", **values: Any
    ) -> list[ComputedRow]:
        """Rows with their computed columns, without storing them. Takes what insert() takes; a view takes rows of its table."""
    def update(
        self, values: dict[str, Any], where: Any = None, cascade: Literal[True] = True, *, on_error: _OnError = "abort"
    ) -> UpdateStatus: ...
    def batch_update(
        self,
        rows: Any,
        cascade: Literal[True] = True,
        if_not_exists: Literal["error", "ignore", "insert"] = "error",
        *,
        on_error: _OnError = "abort",
    ) -> UpdateStatus:
        """Changes rows by their keys."""
    def delete(self, where: Any = None) -> UpdateStatus:
        """Deletes the rows of a condition, or all rows."""
    def recompute_columns(
        self, *columns: Any, errors_only: bool = False, cascade: bool = True, on_error: _OnError | None = None
    ) -> UpdateStatus:
        """Recomputes computed columns. `on_error` is "abort" by default, and "ignore" with `errors_only`."""
    def errors(self, column: Any = None, limit: int = 100) -> list[dict[str, Any]]:
        """The failed cells of computed columns."""
    def add_column(self, *, if_exists: _IfExists = "error", **column: Any) -> UpdateStatus: ...
    def add_columns(self, columns: dict[str, Any], if_exists: _IfExists = "error") -> UpdateStatus: ...
    def add_computed_column(
        self,
        *,
        if_exists: _IfExists = "error",
        on_error: _OnError = "abort",
        stored: bool | None = None,
        destination: Any = None,
        comment: str | None = None,
        custom_metadata: Any = None,
        print_stats: bool = False,
        **column: Any,
    ) -> UpdateStatus:
        """Adds a computed column and fills it: `docs.add_computed_column(loud=upper(docs.title))`."""
    def drop_column(self, column: Any, if_not_exists: _IfNotExists = "error") -> None: ...
    def rename_column(self, old_name: Any, new_name: str) -> None: ...
    def add_embedding_index(
        self,
        column: Any,
        *,
        idx_name: str | None = None,
        if_exists: _IfExists = "error",
        embedding: Any = None,
        string_embed: Any = None,
        image_embed: Any = None,
        audio_embed: Any = None,
        video_embed: Any = None,
        document_embed: Any = None,
        metric: str = "cosine",
        precision: str = "fp16",
    ) -> None: ...
    def add_btree_index(self, *columns: Any, idx_name: str | None = None, if_exists: _IfExists = "error") -> None: ...
    def drop_index(
        self, *, column: Any = None, idx_name: str | None = None, if_not_exists: _IfNotExists = "error"
    ) -> None: ...
    def drop_embedding_index(
        self, *, column: Any = None, idx_name: str | None = None, if_not_exists: _IfNotExists = "error"
    ) -> None: ...
    def columns(self) -> list[str]: ...
    def get_metadata(self) -> dict[str, Any]: ...
    def describe(self) -> None: ...
    def list_views(self, recursive: bool = True) -> list[str]: ...
    def history(self, n: int = 20) -> list[dict[str, Any]]: ...
    def get_base_table(self) -> Table | None: ...
    def __getitem__(self, name: str) -> Any: ...
    def __getattr__(self, name: str) -> Any: ...
