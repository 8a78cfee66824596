from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Annotated, Any, Generic, Literal, ParamSpec, TypeVar, overload

from . import functions as functions, io as io, serving as serving
from .client.api import (
    create_dir as create_dir,
    create_table as create_table,
    create_view as create_view,
    drop_dir as drop_dir,
    drop_table as drop_table,
    get_dir_contents as get_dir_contents,
    get_table as get_table,
    init as init,
    list_dirs as list_dirs,
    list_functions as list_functions,
    list_tables as list_tables,
    ls as ls,
    move as move,
)
from .client.errors import (
    AccessError as AccessError,
    ConflictError as ConflictError,
    NotFoundError as NotFoundError,
    UnavailableError as UnavailableError,
)
from .client.results import Cursor, ResultSet
from .client.tables import Table as Table
from .client.writing import UpdateStatus

__version__: str

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")

class Error(Exception):
    """An error of the library or of a server. `code` is one of docs/errors.md."""

    code: str
    detail: str
    hint: str | None
    errors: list[dict[str, Any]]
    """The wrong fields of a request: `pointer` and `detail` of each."""

class AppFileError(Error):
    source: tuple[str, int] | None

class Expr:
    """A value of a row with a known type."""

    def __add__(self, other: Any) -> Expr: ...
    def __radd__(self, other: Any) -> Expr: ...
    def __sub__(self, other: Any) -> Expr: ...
    def __rsub__(self, other: Any) -> Expr: ...
    def __mul__(self, other: Any) -> Expr: ...
    def __rmul__(self, other: Any) -> Expr: ...
    def __truediv__(self, other: Any) -> Expr: ...
    def __rtruediv__(self, other: Any) -> Expr: ...
    def __floordiv__(self, other: Any) -> Expr: ...
    def __rfloordiv__(self, other: Any) -> Expr: ...
    def __mod__(self, other: Any) -> Expr: ...
    def __rmod__(self, other: Any) -> Expr: ...
    def __pow__(self, other: Any) -> Expr: ...
    def __rpow__(self, other: Any) -> Expr: ...
    def __neg__(self) -> Expr: ...
    def __pos__(self) -> Expr: ...
    def __abs__(self) -> Expr: ...
    def __round__(self, digits: Any = None) -> Expr: ...
    def __eq__(self, other: Any) -> Expr: ...  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
    def __ne__(self, other: Any) -> Expr: ...  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
    def __lt__(self, other: Any) -> Expr: ...
    def __le__(self, other: Any) -> Expr: ...
    def __gt__(self, other: Any) -> Expr: ...
    def __ge__(self, other: Any) -> Expr: ...
    def __and__(self, other: Any) -> Expr: ...
    def __rand__(self, other: Any) -> Expr: ...
    def __or__(self, other: Any) -> Expr: ...
    def __ror__(self, other: Any) -> Expr: ...
    def __invert__(self) -> Expr: ...
    def __getitem__(self, step: str | int | slice) -> Expr: ...
    def __getattr__(self, name: str) -> Any: ...
    def astype(self, target: type[Expr]) -> Any:
        """Converts to another type: `n.astype(db.String)`."""
    def isin(self, values: Iterable[Any]) -> Expr:
        """True where the value is one of `values`, like SQL's IN for nulls."""
    def apply(self, function: Callable[[Any], Any], col_type: Any = None) -> Any:
        """Calls a function of a module with the value: `title.apply(slug, col_type=db.String)`."""
    def similarity(
        self,
        value: Any = ...,
        /,
        *,
        string: Any = ...,
        image: Any = ...,
        audio: Any = ...,
        video: Any = ...,
        document: Any = ...,
        json: Any = ...,
        vector: Any = ...,
        idx: str | None = None,
    ) -> Expr:
        """For a column with an embedding index, in a query: the similarity of its vector to that of a value."""
    errortype: Any
    """For a computed column: the class name of the exception of a cell without a value."""
    errormsg: Any
    """For a computed column: the message of that exception."""

class String(Expr): ...
class Int(Expr): ...
class Float(Expr): ...
class Bool(Expr): ...
class Timestamp(Expr): ...
class Date(Expr): ...
class UUID(Expr): ...
class Binary(Expr): ...

class Json(Expr):
    """Any JSON value; `Json[list[Int]]`, `Json[{"a": String | None}]` or `Json[SomeTypedDict]` restrict it."""

    def __class_getitem__(cls, item: Any) -> Any: ...
    @classmethod
    def schema(cls, document: dict[str, Any]) -> Any:
        """A Json type whose values match a JSON Schema (draft 2020-12)."""

Required = Annotated[_T, "required"]
"""`title: Required[String]` is `title: String`: a column is nullable only with `| None`."""

class Array(Expr):
    """Numbers, booleans or texts in lists of equal lengths: `Array[(768,), Float]`, `Array[(None, 3), "int32"]`."""

    def __class_getitem__(cls, item: Any) -> Any: ...

class Image(Expr):
    """A PIL.Image.Image: `Image[(224, 224), "RGB"]` restricts size and mode."""

    def __class_getitem__(cls, item: Any) -> Any: ...

class Video(Expr):
    """A film; functions get the path of a file."""

class Audio(Expr):
    """A sound; functions get the path of a file."""

class Document(Expr):
    """A PDF, a page of HTML, a text or an office file; functions get its path."""

class _ModelMeta(type):
    """First verbs of a query: `Docs.where(...)`. A column with the same name takes precedence."""

    def where(cls, condition: Any) -> Query: ...
    def select(cls, *values: Any, **named: Any) -> Query: ...
    def order_by(cls, *values: Any, asc: bool = True) -> Query: ...
    def limit(cls, n: Any, offset: Any = None) -> Query: ...
    def head(cls, n: Any = 10) -> Query: ...
    def tail(cls, n: Any = 10) -> Query: ...
    def group_by(cls, *values: Any) -> Query: ...
    def join(cls, other: type[TableModel], on: Any = None, how: str = "inner") -> Query: ...
    def distinct(cls) -> Query: ...
    def sample(cls, n: int | None = None, fraction: float | None = None, seed: int | None = None) -> Query: ...
    def count(cls) -> Query: ...
    def insert(cls, rows: Any = None, /, **values: Any) -> Any:
        """In a handler: stores a row, or a list completely or not at all, and returns the stored rows. `await` it in
        `async def`. Of a bound model: as of a Table."""
    def update(cls, values: dict[str, Any], where: Any = None) -> Any:
        """In a handler: changes the row with the key in `values`, and returns it. Of a bound model: as of a Table."""
    def delete(cls, where: Any = None, **key: Any) -> Any:
        """In a handler: deletes the row of a key, and returns the number of deleted rows. Of a bound model: as of a
        Table."""
    def create_all(cls, target: str) -> list[str]:
        """Of a base: creates the tables of all models that do not exist, and binds the models."""
    def bind_all(cls, target: str) -> None:
        """Of a base: binds all models to their tables, so that `Docs.where(...).collect()` works."""
    def update_all(
        cls, target: str, *, allow_destructive: bool = False, on_error: Literal["abort", "ignore"] = "abort"
    ) -> list[dict[str, Any]]:
        """Of a base: creates and changes tables so that they match the models, and binds them."""
    def get_model_diff(cls, target: str) -> dict[str, dict[str, Any]]:
        """Of a base: what update_all() would change."""
    def diff_all(cls, target: str) -> dict[str, dict[str, Any]]: ...
    def collect(cls, timeout: float | None = None) -> ResultSet: ...
    def cursor(cls, timeout: float | None = None) -> Cursor: ...
    def show(cls, n: int = 20) -> None: ...
    @property
    def table(cls) -> Table:
        """The table that the model is bound to."""
    @property
    def is_bound(cls) -> bool: ...
    def table_path(cls) -> str: ...
    def __getattr__(cls, name: str) -> Any:
        """A column that the body of the class does not declare: of the base of a view, or of its iterator."""

class TableModel(metaclass=_ModelMeta):
    """The base of models. A subclass becomes a table: `class Docs(Base, name="docs"):`. With `base=` it is a view."""

    def __init_subclass__(
        cls,
        *,
        name: str = ...,
        base: type[TableModel] | Query | None = None,
        iterator: Any = None,
        has_default_idxs: bool = False,
        comment: str | None = None,
        custom_metadata: Any = None,
        media_validation: Literal["on_write", "on_read"] = "on_write",
        renamed_from: str | None = None,
    ) -> None: ...

class Query:
    """A read from one model or several. Each verb returns a new one."""

    def where(self, condition: Any) -> Query: ...
    def select(self, *values: Any, **named: Any) -> Query: ...
    def order_by(self, *values: Any, asc: bool = True) -> Query: ...
    def limit(self, n: Any, offset: Any = None) -> Query: ...
    def head(self, n: Any = 10) -> Query: ...
    def tail(self, n: Any = 10) -> Query: ...
    def group_by(self, *values: Any) -> Query: ...
    def join(self, other: type[TableModel], on: Any = None, how: str = "inner") -> Query: ...
    def distinct(self) -> Query: ...
    def sample(self, n: int | None = None, fraction: float | None = None, seed: int | None = None) -> Query: ...
    def count(self) -> Query: ...
    def collect(self, timeout: float | None = None) -> ResultSet:
        """Of a bound model: runs the query and returns all its rows."""
    def cursor(self, timeout: float | None = None) -> Cursor:
        """Of a bound model: an iterator over the rows, which uses the same memory for any number of them."""
    def show(self, n: int = 20) -> None:
        """Of a bound model: prints the first rows."""
    def update(self, values: dict[str, Any], *, on_error: Literal["abort", "ignore"] = "abort") -> UpdateStatus:
        """Of a bound model: changes the rows of where()."""
    def delete(self) -> UpdateStatus:
        """Of a bound model: deletes the rows of where()."""

class NamedQuery(Generic[_P]):
    """A named query. Over columns it gives an expression: the list of its rows. In a handler it returns rows."""

    id: str
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@overload
def query(function: Callable[_P, Any]) -> NamedQuery[_P]: ...
@overload
def query(function: None = None, *, return_scalar: bool = False) -> Callable[[Callable[_P, Any]], NamedQuery[_P]]:
    """Marks a function with type hints that returns a query: `return Docs.where(Docs.n > least)`."""

def model_base(cls_name: str = "TableModel") -> type[TableModel]:
    """Makes a new base: its subclasses are the models of one application."""

@overload
def Column(
    type: type[_T],
    value: None = None,
    primary_key: bool | None = None,
    stored: bool | None = None,
    media_validation: Literal["on_write", "on_read"] | None = None,
    destination: str | PathLike[str] | None = None,
    custom_metadata: Any = None,
    comment: str | None = None,
    renamed_from: str | None = None,
    default: Any = None,
) -> _T:
    """A column with options: `id = Column(value=uuid7(), primary_key=True)`, `state = Column(type=String, default="new")`.
    Lines below it can read it: type checkers follow an assignment, and not a name with an annotation alone."""

@overload
def Column(
    type: Any = None,
    value: Any = None,
    primary_key: bool | None = None,
    stored: bool | None = None,
    media_validation: Literal["on_write", "on_read"] | None = None,
    destination: str | PathLike[str] | None = None,
    custom_metadata: Any = None,
    comment: str | None = None,
    renamed_from: str | None = None,
    default: Any = None,
) -> Any: ...

class BtreeIndex:
    """An index for fast lookups, ranges and orders by its columns."""

    def __init__(self, *columns: Any, name: str | None = None) -> None: ...

class EmbeddingIndex:
    """An index that finds the rows with the nearest vectors: `Docs.text.similarity(string=q)` uses it."""

    def __init__(
        self,
        column: Any,
        embedding: Any = None,
        string_embed: Any = None,
        image_embed: Any = None,
        audio_embed: Any = None,
        video_embed: Any = None,
        document_embed: Any = None,
        metric: str = "cosine",
        precision: str = "fp16",
        name: str | None = None,
    ) -> None: ...

class Udf(Generic[_P, _R]):
    """A function that computes columns. Over plain values it just runs."""

    function: Callable[_P, _R]
    id: str
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def overload(self, function: Callable[..., Any]) -> Udf[_P, _R]:
        """Adds a signature: `@f.overload` above another def. A call takes the one with the nearest types."""
    def using(self, **fixed: Any) -> Using:
        """The function with some parameters fixed: `embed.using(model="small")`."""

class Using:
    """A function with some fixed parameters."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def using(self, **fixed: Any) -> Using: ...

@overload
def udf(function: Callable[_P, _R], /) -> Udf[_P, _R]:
    """Marks a function that computes columns: at the top of a module, with type hints."""

@overload
def udf(
    *,
    batch_size: int | None = None,
    timeout: float | None = None,
    resource_pool: str | ResourcePool | None = None,
    type_substitutions: Sequence[dict[Any, Any]] | None = None,
) -> Callable[[Callable[_P, _R]], Udf[_P, _R]]: ...

Batch = list
"""A list with a value for each row: a parameter or the result of a function with `@udf(batch_size=...)`."""

class ResourcePool:
    """Limits for calls to a provider, across all workers of a service: `@udf(resource_pool=...)`."""

    name: str
    def __init__(
        self, name: str, *, max_concurrent: int | None = None, per_minute: int | None = None, retries: int = 3
    ) -> None: ...

class Aggregator:
    """The base of aggregates: `__init__` starts a group, `update` takes a row, `value` ends it."""

class Uda:
    """An aggregate of the application: over columns it is a value of many rows, in a query."""

    made: type
    id: str
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@overload
def uda(made: type, /) -> Uda:
    """Marks a class with `update()` and `value()` as an aggregate."""

@overload
def uda(
    *,
    requires_order_by: bool = False,
    allows_std_agg: bool = True,
    allows_window: bool = False,
) -> Callable[[type], Uda]: ...

class ExprUdf(Generic[_P]):
    """A function whose body is an expression; a call means that expression."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def expr_udf(function: Callable[_P, Any]) -> ExprUdf[_P]:
    """Marks a function that makes an expression of its arguments; it runs while the file is read, never over rows."""

class Iterated(Generic[_P]):
    """An iterator of the application. Over columns it gives what `iterator=` of a model takes, over plain values rows."""

    __name__: str
    id: str
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

@overload
def iterator(target: Callable[_P, Any], /) -> Iterated[_P]:
    """Marks an iterator: a generator function, or a class, whose rows have a TypedDict (`-> Iterator[Part]`)."""

@overload
def iterator(
    *, unstored_cols: Sequence[str] = ..., timeout: float | None = ...
) -> Callable[[Callable[_P, Any]], Iterated[_P]]: ...
