"""Rows that the library sends to be computed and not stored."""

import datetime
import json

import pytest

import appdb as db
from fake_database import column, definition
from test_client import docs, server  # noqa: F401
from test_client_writes import ROWS


def sent(server):
    """The rows of the last request."""
    return [json.loads(line) for line in server.bodies("/compute")[-1].splitlines()]


@pytest.mark.parametrize("form", [form for form in ROWS if form != "a generator"])
def test_rows_come_in_all_forms_of_an_insert(server, docs, form):
    computed = docs.compute(ROWS[form])
    assert [row["loud"] for row in computed] == [row["title"].upper() for row in sent(server)]
    assert server.requests[-1][2] == {"on_error": "abort"}


def test_values_of_one_row_are_keyword_arguments(server, docs):
    assert docs.compute(title="a", n=2) == [{"title": "a", "n": 2, "loud": "A"}]


def test_rows_are_python_objects(server, docs):
    (row,) = docs.compute([{"title": "a", "made": datetime.datetime(2026, 1, 2)}])
    assert row == {"title": "a", "loud": "A", "made": datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)}
    assert row.errors == {}


def test_outputs_are_names_or_columns(server, docs):
    for outputs, text in (([docs.loud, "Title"], "loud,title"), (docs.loud, "loud"), ("loud", "loud")):
        docs.compute({"title": "a"}, outputs=outputs)
        assert server.requests[-1][2]["outputs"] == text


def test_failed_cells_are_none_and_have_their_error(server, docs):
    good, bad = docs.compute([{"title": "a"}, {"title": "bad"}], on_error="ignore")
    assert server.requests[-1][2]["on_error"] == "ignore"
    assert (good.errors, bad) == ({}, {"title": "bad", "loud": None})
    assert bad.errors == {"loud": {"errortype": "ValueError", "errormsg": "bad text"}}


def test_many_rows_are_frames_of_columns(server, docs):
    assert len(docs.compute([{"title": str(n)} for n in range(1000)])) == 1000
    assert server.forms[-1] is not None
    server.takes_columns = False
    docs.__appdb_database__.connection.takes_columns = None
    assert len(docs.compute([{"title": str(n)} for n in range(1000)])) == 1000


def test_a_view_takes_rows_of_its_table(server, docs):
    server.tables["long"] = definition("long", column("own"), view={"base": "docs", "filter": None, "columns": None})
    long = db.get_table("main/long")
    assert long.compute({"title": "a", "n": 1})[0]["n"] == 1
    with pytest.raises(db.Error, match="No row was computed: row 1, column 'n': 9223372036854775808 does not fit"):
        long.compute({"title": "a", "n": 2**63})


WRONG = {
    "no rows": (lambda docs: docs.compute(), "given no rows"),
    "both": (lambda docs: docs.compute([{}], title="a"), "given rows and title="),
    "no outputs": (lambda docs: docs.compute(title="a", outputs=[]), "outputs= is empty"),
    "an unknown output": (lambda docs: docs.compute(title="a", outputs=["lout"]), "no column 'lout'. Did you mean 'loud'"),
    "an expression": (lambda docs: docs.compute(title="a", outputs=[docs.n + 1]), "outputs= has columns"),
    "on_error": (lambda docs: docs.compute(title="a", on_error="x"), "on_error= is"),
    "no row": (lambda docs: docs.compute(5), "Expected rows, got int"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_calls_are_refused_before_a_request(server, docs, wrong):
    call, text = WRONG[wrong]
    with pytest.raises(db.Error) as caught:
        call(docs)
    assert text in str(caught.value)
    assert server.bodies("/compute") == []


def test_a_failure_names_its_row(server, docs):
    fields = [{"pointer": "/1", "detail": "Line 2: Column docs.loud: ValueError: bad text"}]
    server.answers["/compute"] = (400, {"code": "function_failed", "detail": "x", "hint": "h", "errors": fields})
    with pytest.raises(db.Error, match="No row was computed: row 2: Column docs.loud: ValueError: bad text. h") as caught:
        docs.compute([{"title": "a"}, {"title": "b"}])
    assert caught.value.code == "function_failed"
