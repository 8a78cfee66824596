"""Rows that the library sends."""

import contextlib
import dataclasses
import datetime
import decimal
import json
import os
import uuid
from types import SimpleNamespace

import pytest

import appdb as db
from appdb.io import export_csv, export_json
from fake_database import column, definition
from test_client import docs, server  # noqa: F401


def sent(server):
    """The rows of the last insert."""
    return [json.loads(line) for line in server.bodies("/rows")[-1].splitlines()]


@dataclasses.dataclass
class Record:
    title: str
    n: int


class Model:
    """As a pydantic object."""

    def model_dump(self):
        return {"title": "m", "n": 1}


ROWS = {
    "a dict": {"title": "a", "n": 1},
    "a list": [{"title": "a"}, {"title": "b"}],
    "a generator": ({"title": str(n)} for n in range(3)),
    "a dataclass": Record("a", 1),
    "dataclasses": [Record("a", 1), Record("b", 2)],
    "a model": Model(),
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_rows_come_in_many_forms(server, docs, rows):
    status = docs.insert(rows)
    assert status.num_rows == len(sent(server)) >= 1 and status.num_excs == 0
    assert all(row["title"] for row in sent(server))


def test_values_of_one_row_are_keyword_arguments(server, docs):
    assert repr(docs.insert(title="a", n=2)) == "<inserted 1 row>"
    assert sent(server) == [{"title": "a", "n": 2}]


def test_values_have_their_json_form(server, docs):
    made = datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    one = uuid.uuid4()
    docs.insert({"title": "ä", "made": made, "tags": {"u": one, "d": datetime.date(2026, 1, 2)}, "score": decimal.Decimal("1.5")})
    (row,) = sent(server)
    assert row == {"title": "ä", "made": "2026-01-02T01:00:00Z", "tags": {"u": str(one), "d": "2026-01-02"}, "score": 1.5}


def test_rows_are_returned_as_python_objects(server, docs):
    status = docs.insert([{"title": "a", "made": datetime.datetime(2026, 1, 2)}], return_rows=True)
    assert status.rows == [{"title": "a", "loud": "A", "made": datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)}]


def test_wrong_values_are_named_by_row_and_column_and_nothing_is_stored(server, docs):
    rows = [{"title": "a"}, {"title": "b", "n": 2**63}, {"title": "c", "score": float("nan")}, {"title": "\ud800"}, {"title": {1}}]
    with pytest.raises(db.Error) as caught:
        docs.insert(rows)
    text = str(caught.value)
    assert "row 2, column 'n': 9223372036854775808 does not fit an Int (64 bits)" in text
    assert "row 3, column 'score': nan is not a number" in text
    assert "row 4, column 'title': text contains half a character" in text
    assert "row 5, column 'title': a set cannot be stored" in text
    assert [problem["pointer"] for problem in caught.value.errors] == ["/1/n", "/2/score", "/3/title", "/4/title"]
    assert server.bodies("/rows") in ([], [b""])


def test_only_the_first_twenty_wrong_values_are_named(server, docs):
    with pytest.raises(db.Error) as caught:
        docs.insert({"title": "a", "n": 2**70} for _ in range(1000))
    assert len(caught.value.errors) == 20


def test_fields_that_the_server_refuses_are_named_by_row_and_column(server, docs):
    errors = [{"pointer": "/1/lable", "detail": "The table has no such column."}]
    server.answers["/rows"] = (422, {"code": "invalid_request", "status": 422, "detail": "Some rows are wrong.", "errors": errors})
    with pytest.raises(db.Error, match="row 2, column 'lable': The table has no such column."):
        docs.insert([{"title": "a"}, {"lable": "b"}])


def test_many_rows_are_sent_while_they_are_made(server, docs):
    assert docs.insert({"title": "x" * 100} for _ in range(20_000)).num_rows == 20_000
    assert server.headers[-1]["Transfer-Encoding"] == "chunked"


def test_an_error_of_the_callers_generator_cuts_the_request_off(server, docs):
    def rows():
        yield from ({"title": "x" * 100} for _ in range(10_000))
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        docs.insert(rows())
    assert not any(server.bodies("/rows")), "only the question whether it takes columns has no rows"
    assert docs.insert(title="a").num_rows == 1


FILES = {
    "a.csv": ("title,n,score,tags\na,1,0.5,\"{\"\"x\"\":1}\"\n\"b, c\",,,\n", [{"title": "a", "n": 1, "score": 0.5, "tags": {"x": 1}}, {"title": "b, c", "n": None, "score": None, "tags": None}]),
    "bom.csv": ("\ufefftitle\na\n", [{"title": "a"}]),
    "a.tsv": ("title\tn\na\t2\n", [{"title": "a", "n": 2}]),
    "a.json": ('[{"title":"a"}]', [{"title": "a"}]),
    "a.jsonl": ('{"title":"a"}\n\n{"title":"b"}\n', [{"title": "a"}, {"title": "b"}]),
}


@pytest.mark.parametrize("name", FILES)
def test_files_are_read(server, docs, tmp_path, name):
    text, rows = FILES[name]
    (tmp_path / name).write_text(text, encoding="utf-8")
    docs.insert(tmp_path / name)
    assert sent(server) == rows


@pytest.mark.parametrize(
    "content",
    ["title,n\na,1\n", '"title";"n"\na;1\n', '\n{"title": "a", "n": 1}\n', '[{"title": "a", "n": 1}]', '\ufeff{"title": "a", "n": 1}'],
)
@pytest.mark.parametrize("name", ["rows", "rows.txt", "rows.2026-01-31"])
def test_a_file_without_a_known_ending_is_read_by_its_content(server, docs, tmp_path, content, name):
    (tmp_path / name).write_text(content, encoding="utf-8")
    docs.insert(tmp_path / name)
    assert sent(server) == [{"title": "a", "n": 1}]


@pytest.mark.parametrize("name", ["none", "none.csv", "none.xlsx", "none.txt", "a.csv/none.csv"])
def test_a_missing_file_is_refused_before_its_format(docs, tmp_path, name):
    (tmp_path / "a.csv").touch()
    with pytest.raises(db.Error, match="There is no file .*none") as caught:
        docs.insert(tmp_path / name)
    assert caught.value.code == "file_not_found"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_and_a_device_are_refused_by_what_they_are(docs, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(db.Error, match="pipe is a pipe"):
        docs.insert(tmp_path / "pipe")
    with pytest.raises(db.Error, match="/dev/null is a device"):
        docs.insert("/dev/null")


@pytest.mark.parametrize("name", ["rows", "rows.log", "rows.jsonl"])
def test_an_empty_file_has_no_rows(docs, tmp_path, name):
    (tmp_path / name).touch()
    assert docs.insert(tmp_path / name).num_rows == 0


def test_exports_without_an_ending_come_back(server, docs, tmp_path):
    for export in (export_csv, export_json):
        server.result({"title": "string", "n": "int"}, [["a", 1], ["b", None]])
        export(docs.select(docs.title, docs.n), tmp_path / "rows")
        docs.insert(tmp_path / "rows")
        rows = [json.loads(line) for line in server.bodies("/rows")[-1].splitlines()]
        assert [(row["title"], row.get("n")) for row in rows] == [("a", 1), ("b", None)]


WRONG = {
    "rows": (b"some prose\n", "has the column 'some prose', which the table lacks"),
    "ragged.csv": (b"title,n\na,1\nb\n", "Line 3 of .* has 1 values; the first line names 2 columns"),
    "tags.csv": (b"title,tags\na,x\n", "Line 2 of .* has 'x' in the column tags, which is not JSON"),
    "open.csv": (b'title\na\n"b\nc\n', "Line 3 of .* is not valid CSV: the quote that begins a cell does not end"),
    "unknown.csv": (b"title,titel\n", "has the column 'titel', which the table lacks. Did you mean 'title'"),
    "nameless.csv": (b"title,\na,b\n", "Line 2 of .* has 'b' in a column without a name"),
    "lines.json": (b'{"title":"a"}\n{"title":"b"}\n', "Line 2 of .* Name a file with an object on each line .jsonl"),
    "deep.jsonl": (b'{"tags":' + b"[" * 100_000, "Line 1 of .* nested too deep"),
    "latin.jsonl": (b'{"title":"a"}\n{"title":"\xe4"}\n', "Line 2 of .* is not UTF-8"),
    "cut.csv": ("title\na\nb\n".encode("utf-16")[:-1], "Line 3 of .* is not UTF-16"),
    "quotes.csv": (b'title\n"a"b\n', "Line 2 of .* is not valid CSV"),
    "latin.csv": (b"title\n\xe4\n", "Line 2 of .* is not UTF-8"),
    "twice.csv": (b"title,title\na,b\n", "several columns named 'title'"),
    "empty.csv": (b"", "is empty"),
    "bad.jsonl": (b'{"title":"a"}\n{"title":\n', "Line 2 of .* is not valid JSON"),
    "list.jsonl": (b"[1]\n", "Row 1 of .* is int, not an object"),
    "a.txt": (b"some prose\n", "has the column 'some prose', which the table lacks"),
    "packed": (b"\x1f\x8b\x08\0", "packed is packed by gzip.* gunzip -c .*packed > rows.csv"),
    "packed.csv": (b"\x1f\x8b\x08\0", "is packed by gzip"),
    "parquet.csv": (b"PAR1", "is a Parquet file. Name it with the ending .parquet"),
    "book.jsonl": (b"PK\x03\x04", "is an Excel file or another archive. Name it with the ending .xlsx"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_is_refused_with_its_line(docs, tmp_path, name):
    content, message = WRONG[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(db.Error, match=message):
        docs.insert(tmp_path / name)


def test_a_query_is_a_source(server, docs):
    server.result({"title": "string"}, [["a"]], [["b"]])
    docs.insert(docs.select(docs.title))
    assert sent(server) == [{"title": "a"}, {"title": "b"}]


def test_an_update_sends_expressions(server, docs):
    assert docs.where(docs.n > 1).update({"n": docs.n + 1, "score": 2, "tags": {"a": 1}, "made": None}).num_rows == 2
    (body,) = server.bodies("/rows")
    assert body["where"]["fn"] == "op.gt" and body["set"]["n"]["fn"] == "op.add"
    assert body["set"]["score"] == {"node": "literal", "value": 2.0, "type": {"kind": "float"}, "nullable": False}
    assert body["set"]["tags"]["value"] == '{"a":1}' and body["set"]["made"]["value"] is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"titel": 1}, "Did you mean 'title'?"),
        ({"loud": "A"}, "'loud' is computed"),
        ({"n": "x"}, "does not fit the column 'n', which is Int"),
        ({}, "takes a dict of new values"),
    ],
)
def test_a_wrong_update_is_refused(docs, values, message):
    with pytest.raises(db.Error, match=message):
        docs.update(values)


def test_rows_are_updated_by_key_and_deleted(server, docs):
    docs.batch_update([{"id": 1, "title": "a"}], if_not_exists="insert")
    assert server.bodies("/rows")[-1] == {"rows": [{"id": 1, "title": "a"}], "if_not_exists": "insert", "on_error": "abort"}
    assert docs.delete(docs.n == 1).num_rows == 3
    assert server.bodies("/delete")[-1]["where"]["fn"] == "op.eq"
    docs.delete()
    assert server.bodies("/delete")[-1] == {"where": None}
    with pytest.raises(db.Error, match="more than where"):
        docs.limit(1).delete()


def test_files_are_changed_by_keys(server):
    server.tables["photos"] = definition("photos", column("id", "int"), column("photo", "image"))
    photos = db.get_table("main/photos")
    with pytest.raises(db.Error, match=r"each row has a file of its own\. .*batch_update"):
        photos.update({"photo": "a.png"})


def test_a_condition_may_be_a_text(server, docs):
    docs.delete("n > 100")
    docs.delete(where="n > 101")
    assert [body["where"] for body in server.bodies("/delete")] == ["n > 100", "n > 101"]
    docs.update({"n": 1}, where="n > 100")
    assert server.bodies("/rows")[-1]["where"] == "n > 100"
    for text in ("", " "):
        with pytest.raises(db.Error, match="empty text, which names no rows"):
            docs.delete(where=text)
        with pytest.raises(db.Error, match="empty text, which names no rows"):
            docs.update({"n": 1}, where=text)
    assert len(server.bodies("/delete")) == 2


@pytest.mark.parametrize("constant", [True, False])
def test_a_constant_is_no_condition(server, docs, constant):
    sign = "!=" if constant else "=="
    for refused in (docs.where, lambda on: docs.delete(where=on), lambda on: docs.update({"title": "b"}, where=on)):
        with pytest.raises(db.Error, match=f"not the constant {constant}") as caught:
            refused(constant)
        assert f"docs.column {sign} None" in caught.value.hint
    server.tables["others"] = definition("others", column("title"))
    with pytest.raises(db.Error, match=f"on= takes a condition, not the constant {constant}"):
        docs.join(db.get_table("main/others"), on=constant)


@pytest.mark.parametrize("count", [1, 499, 500])
def test_few_rows_are_sent_again_when_their_functions_were_lost(server, docs, count):
    problem = {"code": "function_missing", "status": 409, "detail": "It needs f.", "hint": "Move it."}
    server.answers["/rows"] = (409, problem)
    connection = docs.__appdb_database__.connection
    connection.takes_columns = False
    lease = SimpleNamespace(
        times_stored=0, renew_soon=lambda: None, restore=lambda since: True, waiting=contextlib.nullcontext
    )
    connection.lease = lambda: lease
    rows = [{"title": "a"}] * count
    if count < 500:
        assert docs.insert(rows).num_rows == count
    else:  # A stream is not sent twice.
        with pytest.raises(db.Error, match="It needs f."):
            docs.insert(rows)
