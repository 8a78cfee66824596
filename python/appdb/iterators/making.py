"""Rows of an iterator view in a worker: the step `op.iterate` of a graph (packages/engine/src/compute/rows-runner.ts)."""

from base64 import b64encode
from json import dumps, loads

from appdb.iterators.calls import Output
from appdb.iterators.reading import read_again
from appdb.iterators.running import run_iterator
from appdb.kinds._base import Kind
from appdb.worker.calling import within_limit


def compile_rows(expr, functions, args, kwargs):
    """Compiles a call of an iterator to a function from a row to the JSON text of its rows: RowsText of
    packages/engine/src/expressions/made-rows.ts, with the stored outputs. Raises CellError.
    """
    call, outputs = expr["args"][0], loads(expr["args"][1]["value"])
    if call["node"] == "udf":
        function = functions[call["function"]]
        made = function.outputs
    else:
        from appdb.iterators.library import ITERATORS

        function = ITERATORS[call["fn"]]
        made = [Output(one["name"], Kind(one["type"]), one["nullable"]) for one in outputs]
    names = [one["name"] for one in outputs]

    def rows(row):
        given, named = [arg(row) for arg in args], {key: arg(row) for key, arg in kwargs.items()}
        columns, count = {name: [] for name in names}, 0
        added = [(name, column.append) for name, column in columns.items()]
        for one in run_iterator(function, given, named, made):
            count += 1
            for name, add in added:
                add(_plain(one[name]))
        return dumps({"rows": count, "given": columns}, ensure_ascii=False)

    return within_limit(function.id, function.timeout_s, rows)


def compile_output(expr, functions, args, kwargs, pos):
    """Compiles the value of an output that is not stored to a function from a row to its stored form. Raises CellError."""
    function, name = functions[expr["args"][0]["function"]], expr["args"][2]["value"]

    def output(row):
        given, named = [arg(row) for arg in args], {key: arg(row) for key, arg in kwargs.items()}
        return read_again(function, given, named, function.outputs, pos(row), name)

    return within_limit(function.id, function.timeout_s, output)


def _plain(value):
    if type(value) is int:
        return str(value)
    if hasattr(value, "wire"):  # A file that is written when it leaves the worker (kinds/_media.py).
        return value.wire()
    if isinstance(value, list):  # An array: its shape and elements (expressions/arrays.py).
        return [_plain_bytes(part) for part in value]
    return _plain_bytes(value)


def _plain_bytes(value):
    return b64encode(value).decode("ascii") if isinstance(value, bytes) else value
