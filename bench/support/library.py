"""One measurement of the library in a process of its own: python library.py NAME ROWS DSN. Prints milliseconds, or MB."""

import json
import resource
import sys
import time
from datetime import UTC, datetime, timedelta

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def values_of(n):
    return {"n": n, "x": n / 8, "flag": n % 3 == 0, "at": BEGIN + timedelta(seconds=n), "title": f"Title of the row {n}"}


def insert(rows, _dsn):
    return _insert(rows, lambda given: given)


def insert_frame(rows, _dsn):
    import pandas

    return _insert(rows, pandas.DataFrame)


def insert_arrow(rows, _dsn):
    import pyarrow

    return _insert(rows, pyarrow.Table.from_pylist)


def _insert(rows, made_of):
    import appdb as db

    table = db.get_table("library/written")
    given = made_of([values_of(n) for n in range(rows)])
    began = time.perf_counter()
    status = table.insert(given)
    ms = (time.perf_counter() - began) * 1000
    assert status.num_rows == rows, status
    return ms


def collect(rows, _dsn):
    import appdb as db
    import pyarrow  # noqa: F401

    table = db.get_table("library/read")
    began = time.perf_counter()
    found = table.select(table.n, table.x, table.title).collect().to_arrow()
    ms = (time.perf_counter() - began) * 1000
    assert found.num_rows == rows, found.num_rows
    return ms


def adbc(rows, dsn):
    import adbc_driver_postgresql.dbapi
    import pyarrow  # noqa: F401

    with adbc_driver_postgresql.dbapi.connect(dsn) as connection, connection.cursor() as cursor:
        cursor.execute("select 1")
        cursor.fetch_arrow_table()
        began = time.perf_counter()
        cursor.execute("select n, x, title from public.read")
        found = cursor.fetch_arrow_table()
        ms = (time.perf_counter() - began) * 1000
    assert found.num_rows == rows, found.num_rows
    return ms


def cursor(rows, _dsn):
    import appdb as db

    table = db.get_table("library/read")
    found = sum(1 for _ in table.select(table.n, table.x, table.title).cursor())
    assert found == rows, found
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def prepare(rows, _dsn):
    import appdb as db

    from appdb.functions import uuid7

    columns = {"id": db.Column(value=uuid7()), "n": db.Int, "x": db.Float, "flag": db.Bool, "at": db.Timestamp, "title": db.String}
    db.create_table("library/written", columns, primary_key="id")
    db.create_table("library/read", columns, primary_key="id")
    return 0


if __name__ == "__main__":
    name, rows, dsn = sys.argv[1:]
    measures = {one.__name__: one for one in (prepare, insert, insert_frame, insert_arrow, collect, adbc, cursor)}
    print(json.dumps(measures[name](int(rows), dsn)))
