import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from appdb.client.reading import BoundQuery
from appdb.client.tables import Table

def export_parquet(
    table_or_query: Table | BoundQuery,
    parquet_path: str | os.PathLike[str],
    partition_size_bytes: int = 100_000_000,
    inline_images: bool = False,
) -> None:
    """Writes rows as Parquet: one file if the path ends in `.parquet`, otherwise files in a new folder."""

def export_csv(
    table_or_query: Table | BoundQuery, file_path: str | os.PathLike[str], *, delimiter: str = ",", quoting: int = 0
) -> None:
    """Writes rows as CSV with a header. Lists and objects are JSON, files are addresses, bytes are base64."""

def export_json(table_or_query: Table | BoundQuery, file_path: str | os.PathLike[str]) -> None:
    """Writes rows as JSON, an object a line. Files are addresses, bytes are base64."""

def import_csv(
    tbl_name: str,
    filepath_or_buffer: str | os.PathLike[str],
    schema_overrides: None = None,
    primary_key: str | Sequence[str] | None = None,
    comment: str | None = None,
) -> Table:
    """Creates a table of a CSV file with a header."""

def import_json(
    tbl_path: str,
    filepath_or_url: str | os.PathLike[str],
    *,
    schema_overrides: None = None,
    primary_key: str | Sequence[str] | None = None,
    comment: str | None = None,
) -> Table:
    """Creates a table of a file of JSON, or of JSON lines."""

def import_parquet(
    table: str,
    *,
    parquet_path: str | os.PathLike[str],
    schema_overrides: None = None,
    primary_key: str | Sequence[str] | None = None,
) -> Table:
    """Creates a table of a Parquet file."""

def import_excel(
    tbl_name: str,
    io: str | os.PathLike[str],
    *,
    schema_overrides: None = None,
    primary_key: str | Sequence[str] | None = None,
    comment: str | None = None,
) -> Table:
    """Creates a table of the first sheet of an Excel file."""

def import_pandas(
    tbl_name: str,
    df: Any,
    *,
    schema_overrides: None = None,
    primary_key: str | Sequence[str] | None = None,
    comment: str | None = None,
) -> Table:
    """Creates a table of a DataFrame."""

def import_rows(
    tbl_path: str,
    rows: Iterable[Mapping[str, Any]],
    *,
    schema_overrides: None = None,
    primary_key: str | Sequence[str] | None = None,
    comment: str | None = None,
) -> Table:
    """Creates a table of dicts."""

def import_huggingface_dataset(
    table_path: str, dataset: Any, *, schema_overrides: None = None, primary_key: str | Sequence[str] | None = None
) -> Table:
    """Creates a table of one split of a dataset."""
