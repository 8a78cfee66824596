"""Values of every kind with nulls, as Arrow and as rows: collect().to_arrow(), read by pyarrow, and cursor().

Prints the columns whose values differ, and those whose Arrow type is not the expected one, as JSON.
"""

import json
import sys
from datetime import date, datetime, timedelta, timezone
from uuid import UUID

import numpy
import pyarrow

import appdb as db
from appdb.functions import make_list

TARGET = sys.argv[1]
UTC = timezone.utc
#: By column: the type, its Arrow type, and values.
COLUMNS = {
    "text": (db.String, "string", ["", "a", "日本 😀", "line\nbreak", "'\"\\", "x" * 70_000]),
    "whole": (db.Int, "int64", [0, -1, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "number": (db.Float, "double", [0.0, -0.0, 0.1, 1e308, 5e-324, -1.5, 1e22]),
    "flag": (db.Bool, "bool", [True, False]),
    "at": (
        db.Timestamp,
        "timestamp[us, tz=UTC]",
        [
            datetime(1, 1, 1, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC),
            datetime(1970, 1, 1, tzinfo=UTC),
            datetime(2024, 2, 29, 12, 0, 0, 1, UTC),
            datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
            datetime(2024, 7, 1, 2, tzinfo=timezone(timedelta(hours=2))),
        ],
    ),
    "day": (db.Date, "date32[day]", [date(1, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)]),
    "id": (db.UUID, "string", [UUID(int=0), UUID(int=2**128 - 1), UUID("0198c0de-0000-7000-8000-00000000abcd")]),
    "doc": (
        db.Json,
        "string",
        [{}, [], {"b": 1, "a": [None, 1.0, "ü"]}, "text", 7, 2**70, 1.5, True, {"a": {"a": {"a": []}}}],
    ),
    "bytes": (db.Binary, "binary", [b"", b"\0\xff", b"x" * 70_000]),
    "vector": (db.Array[(3,), db.Float], "fixed_size_list<float>[3]", [[0.1, -0.0, 1e30], [1.0, 2.0, 3.0]]),
    "doubles": (db.Array[(None,), "float64"], "list<double>", [[], [0.1], [1e308, -5e-324, 0.0]]),
    "flags": (db.Array[(2,), db.Bool], "fixed_size_list<bool>[2]", [[True, False], [False, False]]),
    "small": (db.Array[(None,), "uint8"], "list<uint8>", [[0, 255], [], list(range(200))]),
    "int8": (db.Array[(None,), "int8"], "list<int8>", [[-128, 127]]),
    "int16": (db.Array[(None,), "int16"], "list<int16>", [[-(2**15), 2**15 - 1]]),
    "int32": (db.Array[(None,), "int32"], "list<int32>", [[-(2**31), 2**31 - 1]]),
    "int64": (db.Array[(None,), db.Int], "list<int64>", [[-(2**63), 2**63 - 1], []]),
    "texts": (db.Array[(None,), db.String], "list<string>", [["", "ü😀"], [], ["a" * 1000]]),
    "boxes": (db.Array[(None, 2), "int32"], "list<fixed_size_list<int32>[2]>", [[[1, 2], [3, 4]], [], [[-5, 6]]]),
    "grid": (db.Array[(2, 2), "float64"], "fixed_size_list<fixed_size_list<double>[2]>[2]", [[[0.5, 1.0], [2.0, -3.25]]]),
}


def rows():
    """More rows than one message has; each column is null in every third row, in different ones."""
    for n in range(7_000):
        row = {"k": n}
        for place, (name, (_, _, values)) in enumerate(COLUMNS.items()):
            value = values[n // 3 % len(values)]
            is_long = isinstance(value, (str, bytes)) and len(value) > 1_000 and n > 100
            row[name] = None if (n + place) % 3 == 0 or is_long else value
        yield row


def given(name, value):
    """The value that a row was given, as a program gets it back."""
    if name == "at" and value is not None:
        return value.astimezone(UTC)
    if name == "vector" and value is not None:
        return [float(numpy.float32(item)) for item in value]
    return value


def plain(value):
    return value.tolist() if hasattr(value, "tolist") else value


def of_arrow(name, value):
    """The value of a cell of the Arrow table, in the form of a row."""
    decode = {"id": UUID, "doc": json.loads, "at": lambda moment: moment.astimezone(UTC)}.get(name)
    return value if value is None or decode is None else decode(value)


def compare(query, names, expected=None):
    """Differences between the Arrow table, the rows of collect() and those of cursor()."""
    found = []
    result = query.collect()
    # Written and read again, by the format's own reader and with all its checks.
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, result.to_arrow().schema) as writer:
        writer.write_table(result.to_arrow())
    table = pyarrow.ipc.open_stream(sink.getvalue()).read_all()
    table.validate(full=True)
    streamed = list(query.cursor())
    for column in names:
        name = column.rpartition(".")[2]
        ways = {
            "arrow": [of_arrow(name, value) for value in table.column(column).to_pylist()],
            "collect": [plain(value) for value in result[column]],
            "cursor": [plain(row[column]) for row in streamed],
        }
        if expected is not None:
            ways["given"] = [given(name, row[name]) for row in expected]
        texts = {way: list(map(repr, values)) for way, values in ways.items()}
        if len({len(values) for values in texts.values()}) > 1 or len({tuple(values) for values in texts.values()}) > 1:
            first = next((cells for cells in zip(*texts.values()) if len(set(cells)) > 1), "lengths")
            found.append({"column": column, "ways": list(texts), "first": [cell[:200] for cell in first]})
    return table, found


def main():
    schema = {"k": db.Column(type=db.Int, primary_key=True)}
    schema |= {name: type | None for name, (type, _, _) in COLUMNS.items()}
    table = db.create_table(TARGET, {**schema, "picture": db.Image | None})
    stored = list(rows())
    table.insert(stored)
    columns = [table[name] for name in COLUMNS]
    arrow, found = compare(table.select(*columns).order_by(table.k), COLUMNS, stored)
    for name, (_, expected, _) in COLUMNS.items():
        shown = str(arrow.schema.field(name).type).replace("item: ", "").replace(" not null", "")
        if shown != expected:
            found.append({"column": name, "arrow": shown, "expected": expected})
    _, none = compare(table.where(table.k < 0).select(*columns), COLUMNS, [])
    _, nulls = compare(table.where(table.text == None).select(*columns), COLUMNS)
    of_lists = []
    for name in COLUMNS:
        listed = table.where(table.k < 60).select(doc=make_list(table[name], order_by=table.k))
        of_lists += compare(listed, ["doc"])[1]
    print(json.dumps([*found, *none, *nulls, *of_lists, *beside_files(table, arrow)]))


def beside_files(table, arrow):
    """Columns that to_arrow() makes otherwise for a result with files, which comes as rows."""
    made = table.order_by(table.k).limit(1_000).collect().to_arrow()
    made.validate(full=True)
    found = []
    for name in COLUMNS:
        ways = [made.column(name), arrow.column(name).slice(0, 1_000)]
        types = [str(way.type) for way in ways]
        if len(set(types)) > 1 or repr(ways[0].to_pylist()) != repr(ways[1].to_pylist()):
            found.append({"column": name, "beside files": types})
    return found


main()
