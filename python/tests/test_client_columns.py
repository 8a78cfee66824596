"""Rows that are sent as columns: the same rows and the same errors as lines of JSON."""

import datetime
import json
import uuid

import pytest

import appdb as db
from fake_database import column, definition
from test_client import docs, server  # noqa: F401

DAY = datetime.date(2026, 1, 2)
TIME = datetime.datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=datetime.timezone.utc)
ZONED = datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
ID = uuid.uuid4()
MANY = 600

#: By kind: values that are sent in its form, and values that are not.
VALUES = {
    "int": ("i64", [0, -1, 2**63 - 1, -(2**63), None], [True, 1.0, 1.5, "1", 2**63, float("nan"), [1]]),
    "float": ("f64", [0.0, -0.5, 1e308, 1.7e308, 5e-324, 2, 2**53, None], [True, "1", float("inf"), float("nan"), 10**400]),
    "bool": ("u8", [True, False, None], [1, 0, "true", 1.0]),
    "timestamp": ("micros", [TIME, ZONED, TIME.replace(tzinfo=None), datetime.datetime.min, datetime.datetime.max, None], [DAY, "2026-01-02", 1, datetime.datetime.max.replace(tzinfo=ZONED.tzinfo), datetime.datetime.min.replace(tzinfo=ZONED.tzinfo)]),
    "date": ("days", [DAY, datetime.date.min, datetime.date.max, None], [TIME, "2026-01-02", 1]),
    "uuid": ("b16", [ID, uuid.UUID(int=0), None], [str(ID), ID.hex, 1, b"0" * 16]),
    "string": ("utf8", ["", "a", "ä€😀", "line\nline\t\\", "x" * 10_000, None], [1, "\0", "\ud800", b"a", ["a"]]),
    "binary": ("bytes", [b"", b"\0\xff", b"a" * 10_000, None], ["AA==", bytearray(b"a"), 1]),
    "json": ("source", [1, 1.5, "a", None, [1, None], {"b": 1, "a": TIME}, 2**70], [float("nan"), {1}, {"a": "\ud800"}]),
}
CASES = [(kind, value) for kind, (_, right, wrong) in VALUES.items() for value in (*right, *wrong)]


@pytest.fixture
def values(server):
    server.tables["values"] = definition("values", column("title"), *(column(f"a_{kind}", kind, nullable=True) for kind in VALUES))
    return db.get_table("main/values")


def inserted(server, table, rows, takes_columns):
    """What the server got of rows, or the error."""
    server.takes_columns, table.__appdb_database__.connection.takes_columns = takes_columns, None
    before = len(server.requests)
    try:
        status = table.insert(rows)
    except db.Error as error:
        return str(error), error.code, error.errors
    body = next(body for _, path, _, body in reversed(server.requests[before:]) if path.endswith("/rows"))
    return status.num_rows, [json.loads(line, parse_int=number) for line in (body.splitlines() if type(body) is bytes else [json.dumps(body)])]


def number(digits):
    """As a server reads an integer of a Float column: 1 and 1.0 are equal, and so are 2**53 + 1 and its float."""
    return float(digits) if len(digits) < 17 else digits


@pytest.mark.parametrize(("kind", "value"), CASES, ids=lambda value: repr(value)[:30])
def test_each_value_is_sent_as_in_lines(server, values, kind, value):
    rows = [{"title": str(n), f"a_{kind}": value if n == 550 else VALUES[kind][1][0]} for n in range(MANY)]
    assert inserted(server, values, rows, True) == inserted(server, values, rows, False)


@pytest.mark.parametrize("kind", VALUES)
def test_a_column_of_plain_values_has_the_form_of_its_kind(server, values, kind):
    form, right, _ = VALUES[kind]
    rows = [{"title": "a", f"a_{kind}": right[n % len(right)]} for n in range(MANY)]
    inserted(server, values, rows, True)
    assert {json.dumps(one) for one in server.forms} == {json.dumps({"title": "utf8", f"a_{kind}": form})}


def test_rows_of_different_names_are_sent_as_lines(server, docs):
    rows = [{"title": "a"} if n % 2 else {"title": "b", "n": n} for n in range(MANY)]
    assert inserted(server, docs, rows, True) == inserted(server, docs, rows, False)
    assert set(server.forms) == {None}


def test_rows_of_other_classes_are_sent_as_lines(server, docs):
    class Row(dict):
        pass

    rows = [Row(title=str(n)) for n in range(MANY)]
    assert inserted(server, docs, iter(rows), True) == inserted(server, docs, rows, False)


def test_few_rows_are_sent_as_lines_without_a_question(server, docs):
    docs.insert({"title": str(n)} for n in range(499))
    assert len(server.bodies("/rows")) == 1 and server.forms == []


def test_an_older_server_gets_lines_and_is_asked_once(server, docs):
    server.takes_columns = False
    for _ in range(2):
        assert docs.insert({"title": str(n)} for n in range(MANY)).num_rows == MANY
    assert len(server.bodies("/rows")) == 2
    assert docs.__appdb_database__.connection.takes_columns is False


def test_wrong_values_of_all_frames_are_named(server, docs):
    rows = [{"title": "a", "n": 2**63 if n in (100, 500, 550) else n} for n in range(MANY)]
    pointers = [problem["pointer"] for problem in inserted(server, docs, (row for row in rows), True)[2]]
    assert pointers == ["/100/n", "/500/n", "/550/n"]


def test_rows_that_become_large_are_read_few_at_a_time(server, docs, monkeypatch):
    from appdb.client.rows import columns

    taken = []
    made = columns._column_frame
    monkeypatch.setattr(columns, "_column_frame", lambda piece, refs: taken.append(len(piece)) or made(piece, refs))
    rows = ({"title": "x" if n < 3_000 else "x" * 300_000} for n in range(3_040))
    assert docs.insert(rows).num_rows == 3_040
    assert max(taken) > 1_000 and max(taken[-3:]) <= 32


FRAMES = {
    "pandas": lambda pandas, rows: pandas.DataFrame(rows),
    "an arrow table": lambda pandas, rows: pytest.importorskip("pyarrow").Table.from_pylist(rows),
    "an arrow batch": lambda pandas, rows: pytest.importorskip("pyarrow").RecordBatch.from_pylist(rows),
    "polars": lambda pandas, rows: pytest.importorskip("polars").DataFrame(rows),
}
COLUMNS = {
    "title": lambda n: None if n % 7 == 0 else f"ä {n}",
    "n": lambda n: n,
    "score": lambda n: None if n % 5 == 0 else n / 8,
    "made": lambda n: TIME + datetime.timedelta(seconds=n),
    "tags": lambda n: [n, n + 1],
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("names", [list(COLUMNS), ["title"], ["n"], ["made", "score"]], ids=str)
def test_frames_are_sent_as_their_rows(server, docs, make, names):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows = [{name: COLUMNS[name](n) for name in names} for n in range(12_000)]
    frame = make(pandas, rows)
    assert inserted(server, docs, frame, True) == inserted(server, docs, frame, False)
    assert None not in server.forms


@pytest.mark.parametrize(
    "values",
    [
        [1, None, 3], [1.0, float("nan"), 3.0], [1.5, 2, 3], [True, False, None], ["1", "2", None], [2**64 - 1, 1, 2],
        [datetime.timedelta(1)] * 3, [b"a", b"", None], [DAY, None, DAY], [{"a": 1}, {"b": 2}, None], [float("inf"), 1.0, 2.0],
    ],
    ids=str,
)
@pytest.mark.parametrize("column", ["n", "score", "title", "made", "tags"])
@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_frames_of_other_types_have_the_errors_of_rows(server, docs, make, values, column):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    if column == "score" and values[0] == 2**64 - 1:
        pytest.skip("Both texts mean the same Float.")
    rows = [{"title": "a", column: values[n % 3]} for n in range(600)]
    try:
        frame = make(pandas, rows)
    except Exception as error:  # The frame itself refuses the values.
        pytest.skip(str(error))
    assert inserted(server, docs, frame, True) == inserted(server, docs, frame, False)
