"""Outputs of the application's iterators that are not stored: the iterator runs again up to the row."""

import threading
from collections import OrderedDict

from appdb.declare.types import manifest_type
from appdb.iterators.running import cell_check, check_names, close, next_row, opened
from appdb.kinds import rules
from appdb.values import encoder
from appdb.worker.calling import CellError

# Iterators that stay open between reads: rows are mostly read in their order.
MAX_OPEN = 4
_COSTLY = object()


class _Open:
    """An open iterator: the row that it gave last, and its number."""

    def __init__(self, function, args, kwargs):
        self.function = function
        self.rows = opened(function, args, kwargs)
        self.number = -1
        self.row = None

    def close(self):
        close(self.function, self.rows)


_open = OrderedDict()  # By the key of iterator and arguments; the least recently used first.
_lock = threading.Lock()


def read_again(function, args, kwargs, outputs, pos, name):
    """The value of the output `name` in the row at `pos`, in stored form. Raises CellError.

    Arguments are as in run_iterator. Rows that ascend are read by one run of the iterator.
    """
    output = next(one for one in outputs if one.name == name)
    with _lock:
        row = _row(function, args, kwargs, pos)
    check_names(function, pos, row, {one.name for one in outputs})
    return cell_check(function, output)(pos, row[name])


def close_all():
    """Closes the open iterators."""
    with _lock:
        while _open:
            _open.popitem(last=False)[1].close()


def _row(function, args, kwargs, pos):
    key = _key(function, args, kwargs)
    found = None if key is None else _open.pop(key, None)
    if found is not None and found.number > pos:
        found.close()
        found = None
    if found is None:
        found = _Open(function, args, kwargs)
    try:
        while found.number < pos:
            row = next_row(function, found.rows)
            if row is None:
                had = found.number + 1
                raise CellError(
                    function.id,
                    ValueError(f"{function.name} gives only {had} rows now, and none at pos {pos}; insert the row again"),
                )
            found.row, found.number = row[0], found.number + 1
    except BaseException:
        found.close()
        raise
    if key is None:
        found.close()
        return found.row
    _open[key] = found
    if len(_open) > MAX_OPEN:
        _open.popitem(last=False)[1].close()
    return found.row


def _key(function, args, kwargs):
    """What tells two runs apart: the iterator and its arguments; None for arguments that are costly to compare."""
    given = function.named(args, kwargs)
    parts = [_identity(one.kind, given[one.name]) for one in function.parameters if one.name in given]
    return None if _COSTLY in parts else (function.id, *given, *parts)


def _identity(kind, value):
    if value is None or isinstance(value, (str, bytes, int, float)):
        return type(value).__name__, value
    if rules(kind).check is not None or kind in ("array", "binary"):
        return _COSTLY
    return kind, encoder(manifest_type(kind))(value)
