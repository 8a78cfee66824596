"""Exports of every kind of column, from the library and the command, become tables with the same columns and rows.

Prints the columns and ways that differ, as JSON.
"""

import datetime as dt
import json
import subprocess
import uuid

import pyarrow.parquet as pq

import appdb as db
from appdb.io import export_parquet

SCHEMA = {
    "k": db.Column(type=db.Int, primary_key=True),
    "text": db.String | None,
    "ratio": db.Float | None,
    "flag": db.Bool | None,
    "at": db.Timestamp | None,
    "day": db.Date | None,
    "code": db.UUID | None,
    "doc": db.Json | None,
    "blob": db.Binary | None,
    "vector": db.Array[(3,), db.Float] | None,
    "boxes": db.Array[(None, 2), "int64"] | None,
    "words": db.Array[(None,), "str"] | None,
    "any": db.Array[db.Float] | None,
    "nothing": db.String | None,
    "no_doc": db.Json | None,
}
ROWS = [
    {
        "k": 1,
        "text": "5",
        "ratio": 0.1,
        "flag": True,
        "at": dt.datetime(2024, 1, 2, 3, 4, 5, 6, dt.timezone.utc),
        "day": dt.date(1, 1, 1),
        "code": uuid.UUID(int=7),
        "doc": "5",
        "blob": b"\0\xff",
        "vector": [1, 2, 3],
        "boxes": [[1, 2]],
        "words": ["a", ""],
        "any": [[1.5]],
    },
    {"k": 2, "doc": {"a": [1, None, 1.0]}, "any": [1.0]},
]


def kinds(table):
    return {column.name: column.shown_type() for column in table.limit(1).collect()._columns}


def rows(table):
    plain = [{name: getattr(value, "tolist", lambda v=value: v)() for name, value in row.items()} for row in table.order_by(table.k).collect()]
    return repr(plain)


def main():
    table = db.create_table("main/every", SCHEMA)
    table.insert(ROWS)
    export_parquet(table, "library.parquet")
    subprocess.run(["cli", "export", "main/every", "-o", "command.parquet"], check=True, capture_output=True)
    sources = {
        "library": "library.parquet",
        "command": "command.parquet",
        "arrow": table.collect().to_arrow(),
        "read": pq.read_table("command.parquet"),
    }
    wrong = []
    for way, source in sources.items():
        made = db.create_table(f"main/from_{way}", source=source, primary_key="k")
        wrong += [[way, name, kinds(made).get(name)] for name, kind in kinds(table).items() if kinds(made).get(name) != kind]
        if rows(made) != rows(table):
            wrong.append([way, rows(made)])
    for file in ("library", "command"):
        again = db.create_table(f"main/again_{file}", SCHEMA)
        subprocess.run(["cli", "insert", again.path, f"{file}.parquet"], check=True, capture_output=True)
        if rows(again) != rows(table):
            wrong.append([file, rows(again)])
    print(json.dumps(wrong))


main()
