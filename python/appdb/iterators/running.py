"""Runs an iterator over the values of one row: its rows one by one, checked, in stored form."""

from appdb.kinds import casting, rules
from appdb.values import WrongType, encoder, type_name
from appdb.declare.types import manifest_type
from appdb.worker.calling import CellError

# Rows that an iterator makes of one row.
MAX_ROWS = 1_000_000


def run_iterator(function, args, kwargs, outputs):
    """Yields the stored outputs of each row, by name: in the form that a column stores (values.py).

    `function` is the iterator; `args` and `kwargs` are the Python values of its arguments in canonical form. A null
    for a parameter that is not nullable gives no rows. Each row must be a dict with exactly the outputs; a library
    iterator leaves out those that are not stored. Raises CellError. The iterator is closed at the end, also after an
    error, and when the caller stops.
    """
    if function.is_skipped(args, kwargs):
        return
    row_of = _row_check(function, outputs)
    rows = opened(function, args, kwargs)
    try:
        for number in range(MAX_ROWS + 1):
            row = next_row(function, rows)
            if row is None:
                return
            if number == MAX_ROWS:
                raise CellError(
                    function.id,
                    ValueError(f"{function.name} makes more than {MAX_ROWS:,} rows of one row; it may never end"),
                )
            yield row_of(number, row[0])
    finally:
        close(function, rows)


def opened(function, args, kwargs):
    """The iterator over its arguments. Raises CellError."""
    try:
        return iter(function.rows(*args, **kwargs))
    except BaseException as error:  # SystemExit and KeyboardInterrupt belong to this row.
        raise CellError(function.id, error) from error


def next_row(function, rows):
    """The next row in a tuple; None after the last. Raises CellError."""
    try:
        return (next(rows),)
    except StopIteration:
        return None
    except BaseException as error:
        raise CellError(function.id, error) from error


def close(function, rows):
    """Ends a generator that has more rows, so that it frees what it holds. Raises CellError."""
    end = getattr(rows, "close", None)
    if end is None:
        return
    try:
        end()
    except BaseException as error:
        raise CellError(function.id, error) from error


def _row_check(function, outputs):
    """A function from the number of a row and the row to its stored outputs."""
    made = [one for one in outputs if one.stored or function.is_udf]
    names = {one.name for one in made}
    cells = [(one, cell_check(function, one)) for one in made]

    def check(number, row):
        check_names(function, number, row, names)
        found = {}
        for output, cell in cells:
            value = cell(number, row.get(output.name))
            if output.stored:
                found[output.name] = value
        return found

    return check


def check_names(function, number, row, names):
    """Raises CellError for a row that is not a dict with exactly these names."""
    if not isinstance(row, dict):
        raise _refused(function, number, f"is {type_name(row)}, not a dict")
    more = [name for name in row if name not in names]
    if more:
        raise _refused(function, number, f"has {more[0]!r}, which is not one of its outputs {', '.join(sorted(names))}")
    if function.from_json:  # Optional keys of a Json object.
        return
    less = [name for name in names if name not in row]
    if less:
        raise _refused(function, number, f"lacks the output '{min(less)}'")


def cell_check(function, output):
    """A function from the number of a row and a value of an output to its stored form."""
    encode = encoder(manifest_type(output.kind))
    convert = casting("json", str(output.kind)) if function.from_json else None

    def check(number, value):
        if value is None:
            if output.nullable:
                return None
            expected = rules(str(output.kind)).python
            raise _refused(function, number, f"has None for the output '{output.name}'; expected {expected}", WrongType)
        try:
            return encode(value if convert is None else convert(value))
        except Exception as error:
            kind = WrongType if isinstance(error, TypeError) else ValueError
            given = f"{type_name(value)} for the output '{output.name}'"
            raise _refused(function, number, f"has {given}: {error}", kind) from error

    return check


def _refused(function, number, what, kind=ValueError):
    return CellError(function.id, kind(f"the row at pos {number} of {function.name} {what}"))
