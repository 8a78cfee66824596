"""Frames of pandas, polars and Arrow as rows that are inserted, and as results."""

import datetime
import json

import pytest

import appdb as db
from appdb.client.rows.frames import need
from fake_database import column
from test_client import DOCS, docs, server  # noqa: F401
from test_client_writes import sent

TYPES = {"i": "int", "f": "float", "b": "bool", "s": "string", "t": "timestamp", "j": "json", "u": "uuid", "a": {"kind": "array", "dtype": "float32", "shape": [2]}}
UUID = "0190a5b0-0000-7000-8000-000000000000"
ROWS = [[1, 0.5, True, "a", "2026-01-02T03:04:05Z", '{"x":1}', UUID, [[2], b"\0\0\x80?\0\0\0@"]], [None] * 8]


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas")


def test_a_missing_package_is_named_with_what_to_install():
    with pytest.raises(db.Error, match=r"to_x\(\) needs appdb_none, which this Python lacks. Install it: pip install 'appdb_none'"):
        need("appdb_none", "to_x()")
    with pytest.raises(db.Error, match=r"pip install 'appdb\[data\]'"):
        need_without("pyarrow")


def need_without(name):
    import sys
    from unittest import mock

    with mock.patch.dict(sys.modules, {name: None}):
        need(name, "to_arrow()")


def test_a_data_frame_is_inserted_with_nulls(server, docs, pandas):
    frame = pandas.DataFrame(
        {
            "title": pandas.Categorical(["a", "b", "a"]),
            "n": [1, None, 3],
            "score": [0.5, float("nan"), 1],
            "made": pandas.to_datetime(["2026-01-02", None, "2026-01-03"]).tz_localize("Europe/Berlin"),
            "tags": [{"x": [1]}, None, [2]],
            "big": pandas.array([2**62, None, 1], dtype="Int64"),
        },
        index=[5, 5, 5],
    )
    with pytest.raises(db.Error, match="The frame has the column 'big', which the table lacks"):
        docs.insert(frame)
    # another program adds it
    server.tables["docs"] = {**DOCS, "columns": [*DOCS["columns"], column("big", "int", nullable=True)]}
    assert docs.insert(frame).num_rows == 3
    first, second, third = sent(server)
    assert first == {"title": "a", "n": 1, "score": 0.5, "made": "2026-01-01T23:00:00Z", "tags": {"x": [1]}, "big": 2**62}
    assert second == {"title": "b", "n": None, "score": None, "made": None, "tags": None, "big": None}
    assert isinstance(third["n"], int)


def test_a_frame_with_a_column_twice_is_refused(docs, pandas):
    frame = pandas.DataFrame([[1, 2]], columns=["title", "title"])
    with pytest.raises(db.Error, match="several columns named 'title'"):
        docs.insert(frame)


def test_frames_of_polars_and_arrow_are_inserted(server, docs):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    made = datetime.datetime(2026, 1, 2)
    docs.insert(polars.DataFrame({"title": ["a", None], "score": [float("nan"), 2.0], "made": [made, None]}))
    assert sent(server) == [{"title": "a", "score": None, "made": "2026-01-02T00:00:00Z"}, {"title": None, "score": 2.0, "made": None}]
    docs.insert(pyarrow.table({"title": ["a"], "tags": [{"x": 1}]}))
    assert sent(server) == [{"title": "a", "tags": {"x": 1}}]


def test_parquet_and_excel_files_are_inserted(server, docs, tmp_path):
    pyarrow, openpyxl = pytest.importorskip("pyarrow"), pytest.importorskip("openpyxl")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"title": ["a", "b"]}), tmp_path / "a.parquet")
    docs.insert(tmp_path / "a.parquet")
    assert [row["title"] for row in sent(server)] == ["a", "b"]
    book = openpyxl.Workbook()
    for line in (["title", "n"], ["x", 1], [None, None], ["y", None]):
        book.active.append(line)
    book.save(tmp_path / "a.xlsx")
    docs.insert(str(tmp_path / "a.xlsx"))
    assert sent(server) == [{"title": "x", "n": 1}, {"title": "y", "n": None}]


def test_pydantic_objects_go_both_ways(server, docs):
    pydantic = pytest.importorskip("pydantic")

    class Doc(pydantic.BaseModel):
        title: str
        n: int | None = None

    docs.insert([Doc(title="a", n=1)])
    assert sent(server) == [{"title": "a", "n": 1}]
    server.result({"title": "string", "n": "int"}, [["a", 1]])
    assert list(docs.select(docs.title, docs.n).collect().to_pydantic(Doc)) == [Doc(title="a", n=1)]


def arrow_stream():
    """The stream of ROWS as a server sends it."""
    import pyarrow
    from pyarrow import ipc

    values = list(zip(*[[1, 0.5, True, "a", datetime.datetime(2026, 1, 2, 3, 4, 5), '{"x":1}', UUID, [1.0, 2.0]], [None] * 8]))
    types = [pyarrow.int64(), pyarrow.float64(), pyarrow.bool_(), pyarrow.string(), pyarrow.timestamp("us", "UTC"), pyarrow.string(), pyarrow.string(), pyarrow.list_(pyarrow.float32(), 2)]
    table = pyarrow.Table.from_arrays([pyarrow.array(list(v), t) for v, t in zip(values, types)], names=list(TYPES))
    sink = pyarrow.BufferOutputStream()
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue().to_pybytes()
    return data[:100], data[100:]


def both_forms(server, docs):
    """The same result as rows and as an Arrow stream."""
    server.result(TYPES, ROWS)
    yield docs.collect()
    first, second = arrow_stream()
    columns = [{"name": name, "type": {"kind": kind} if isinstance(kind, str) else kind, "nullable": True} for name, kind in TYPES.items()]
    server.results.append([{"columns": columns}, {"arrow": first}, {"arrow": second}, {"done": {"count": 2}}])
    yield docs.collect()


def test_results_are_equal_as_rows_and_as_arrow(server, docs, pandas):
    pytest.importorskip("pyarrow")
    plain, arrow = both_forms(server, docs)
    assert server.requests[-1][2] == {"rows": "arrow"}
    assert repr(plain) == repr(arrow) and len(arrow) == 2
    for one, other in zip(plain, arrow):
        assert {**one, "a": None} == {**other, "a": None}
        assert (one["a"] is None and other["a"] is None) or list(one["a"]) == list(other["a"])
    assert plain.to_arrow().drop_columns("a").equals(arrow.to_arrow().drop_columns("a"))
    left, right = plain.to_pandas(), arrow.to_pandas()
    assert [str(one) for one in left.dtypes][:3] == [str(one) for one in right.dtypes][:3] == ["Int64", "float64", "boolean"]
    assert left.drop(columns="a").to_dict("records")[0] == right.drop(columns="a").to_dict("records")[0]


def test_a_result_becomes_a_polars_frame(server, docs):
    pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    server.result({"n": "int"}, [[1], [None]])
    assert docs.select(docs.n).collect().to_polars()["n"].to_list() == [1, None]


def test_columns_are_inferred_from_a_frame(server, pandas):
    from fake_database import column, definition

    server.tables["people"] = definition("people", column("name"))
    frame = pandas.DataFrame({"name": ["a", None], "n": [1, 2], "f": [0.5, None], "d": pandas.to_datetime(["2026-01-02", None])})
    db.create_table("main/people", source=frame)
    columns = server.bodies("/changes")[0]["change"]["definition"]["columns"]
    assert {one["name"]: (one["type"]["kind"], one["nullable"]) for one in columns} == {
        "name": ("string", True), "n": ("int", True), "f": ("float", True), "d": ("timestamp", True)
    }
    assert json.loads(server.bodies("/rows")[0].splitlines()[1])["f"] is None
