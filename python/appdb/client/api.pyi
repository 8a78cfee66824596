from typing import Any, Literal

from .results import ResultSet
from .tables import Table

_IfExists = Literal["error", "ignore", "replace", "replace_force"]
_IfNotExists = Literal["error", "ignore"]
_OnError = Literal["abort", "ignore"]

def get_table(path: str, if_not_exists: _IfNotExists = "error") -> Table:
    """The table or view of a path: `main/docs`, `cloud://acme:main/docs`."""

def create_table(
    path: str,
    schema: dict[str, Any] | None = None,
    *,
    source: Any = None,
    primary_key: str | list[str] | None = None,
    comment: str | None = None,
    custom_metadata: Any = None,
    media_validation: Literal["on_write", "on_read"] | None = None,
    has_default_idxs: bool = False,
    if_exists: _IfExists = "error",
    on_error: _OnError = "abort",
) -> Table:
    """Creates a table: `db.create_table("main/docs", {"title": db.String, "stars": db.Int | None})`."""

def create_view(
    path: str,
    base: Any,
    *,
    additional_columns: dict[str, Any] | None = None,
    iterator: Any = None,
    comment: str | None = None,
    custom_metadata: Any = None,
    has_default_idxs: bool = False,
    if_exists: _IfExists = "error",
    on_error: _OnError = "abort",
) -> Table:
    """Creates a view over a table, a view, or a query over one."""

def drop_table(table: str | Table, force: bool = False, if_not_exists: _IfNotExists = "error") -> None: ...
def move(
    path: str, new_path: str, *, if_exists: _IfNotExists = "error", if_not_exists: _IfNotExists = "error"
) -> None: ...
def create_dir(path: str, *, if_exists: _IfExists = "error", parents: bool = False) -> None: ...
def drop_dir(path: str, force: bool = False, if_not_exists: _IfNotExists = "error") -> None: ...
def list_tables(path: str = "", recursive: bool = True) -> list[str]: ...
def list_dirs(path: str = "", recursive: bool = True) -> list[str]: ...
def ls(path: str = "") -> ResultSet: ...
def get_dir_contents(path: str = "", recursive: bool = True) -> dict[str, list[str]]: ...
def list_functions() -> list[str]: ...
def init(config_overrides: dict[str, Any] | None = None) -> None: ...
