"""Rows of Excel and Parquet files."""

from contextlib import contextmanager

from appdb.client.rows.csv_files import without_name
from appdb.client.rows.frames import need
from appdb.declare.errors import Error


def excel_rows(path, naming, places, columns):
    """Yields the rows of the first sheet, whose first row names columns. Raises Error."""
    openpyxl = need("openpyxl", "An Excel file")
    # openpyxl refuses a path without an ending of Excel, but no open file
    with open(path, "rb") as one, open(path, "rb") as other:
        values, formulas = _opened(openpyxl, path, one, True), _opened(openpyxl, path, other, False)
        if not values.worksheets:
            raise Error(f"{path} has no sheet with cells.", "Save it with the rows in its first sheet.")
        yield from _sheet_rows(path, values.worksheets[0], formulas.worksheets[0], naming, places, columns)


def _sheet_rows(path, sheet, written, naming, places, columns):
    lines = zip(sheet.iter_rows(), written.iter_rows())
    heads = [None if cell.value in (None, "") else cell.value for cell in next(lines, ((), ()))[0]]
    if not any(heads):
        raise Error(f"The first row of {path} is empty.", "The first row of the first sheet has the names of the columns.")
    targets = naming.columns(heads, path, columns)
    number = 0
    for line, (cells, formulas) in enumerate(lines, 2):
        row = {}
        for at, (cell, formula) in enumerate(zip(cells, formulas)):
            value = None if cell.data_type == "e" else cell.value
            if cell.value is None and formula.data_type == "f":
                raise Error(
                    f"{formula.coordinate} of {path} has a formula without its value.",
                    "Open the file in a spreadsheet program and save it, which computes the values.",
                )
            if at >= len(targets) or heads[at] is None:
                if value is not None and naming.is_plain:
                    raise without_name(path, cell.coordinate, repr(value)[:80])
            elif targets[at] is not None:
                row[targets[at]] = value
        if any(value is not None for value in row.values()):
            number += 1
            places.saw(number, line)
            for name in targets:
                if name is not None:
                    row.setdefault(name)
            yield row


def _opened(openpyxl, path, file, is_of_values):
    from zipfile import BadZipFile

    try:
        return openpyxl.load_workbook(file, read_only=True, data_only=is_of_values)
    except (BadZipFile, KeyError, ValueError, OSError, openpyxl.utils.exceptions.InvalidFileException) as error:
        raise _not_readable(path, "an Excel file", error) from error


def parquet_file(path):
    """The pyarrow.parquet.ParquetFile of a path. Raises Error."""
    parquet = need("pyarrow.parquet", "A parquet file")
    with reading_parquet(path):
        return parquet.ParquetFile(path)


@contextmanager
def reading_parquet(path):
    """Raises Error for what the reader of Parquet refuses."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise _not_readable(path, "a Parquet file", error) from error


def _not_readable(path, what, error):
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return Error(f"{path} cannot be read as {what}: {reason.rstrip('.')}.", "Check the file, or save it again.")
