"""Values for columns that a request omits: `default=`, and `now()`."""

import pytest

TABLE = "class A(Base, name='a'):\n    x = db.Column({})\n"
NOW = {"node": "call", "fn": "timestamp.now", "args": [], "kwargs": {}, "type": {"kind": "timestamp"}, "nullable": False}


@pytest.mark.parametrize(
    ("options", "text", "value"),
    [
        ("type=db.String, default='new'", "'new'", "new"),
        ("type=db.Int, default=-3", "-3", "-3"),
        ("type=db.Float, default=2", "2", 2.0),
        ("type=db.Bool | None, default=False", "False", False),
        ("type=db.Json, default={'a': []}", "{'a': []}", '{"a":[]}'),
        ("type=db.Array[(2,), db.Int], default=[1, 2]", "[1,2]", "[1,2]"),
        ("type=db.Binary, default=b'ab'", "b'ab'", "YWI="),
        ("type=db.Date, default=__import__('datetime').date(2026, 1, 2)", "Date('2026-01-02')", "2026-01-02"),
    ],
)
def test_a_default_is_a_constant_of_the_columns_type(project, options, text, value):
    column = project.columns(TABLE.format(options))["x"]
    assert column["computed"] is None
    assert (column["default"]["text"], column["default"]["expr"]["value"]) == (text, value)
    assert column["default"]["expr"]["type"] == column["type"]


@pytest.mark.parametrize("written", ["fn.now()", "fn.timestamp.now()"])
def test_a_default_may_be_made_for_each_row(project, written):
    column = project.columns(TABLE.format(f"type=db.Timestamp, default={written}"))["x"]
    assert column["default"] == {"text": "now()", "expr": NOW}


def test_now_is_a_column_as_uuid7_is(project):
    column = project.columns("from appdb.functions import now\nclass A(Base, name='a'):\n    created = now()\n")["created"]
    assert column["computed"] == {"text": "now()", "expr": NOW}


def test_a_column_with_a_default_may_be_no_input_of_an_insert_route(project):
    document = project.manifest(
        "class A(Base, name='a'):\n    n: db.Int\n    state = db.Column(type=db.String, default='new')\n"
        "r = Router()\nr.add_insert_route(A, path='/a', inputs=['n'])\n"
    )
    assert document["services"][0]["routes"][0]["inputs"] == ["n"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("type=db.Int, default='new'", ["default of column 'x' is 'new'", "of type Int"]),
        ("type=db.Int, default=True", ["default of column 'x' is True", "of type Int"]),
        ("type=db.String, default=fn.now()", ["now(), a Timestamp", "type=db.Timestamp"]),
        ("type=db.String, default=upper('a' + fn.uuid7().astype(db.String))", ["is an expression", "now(), uuid4() or uuid7()"]),
        ("type=db.Timestamp, default=fn.now", ["function now, which is not called", "default=now()"]),
        ("type=db.Timestamp, default=__import__('datetime').datetime.now", ["datetime.now", "default=now() of appdb.functions"]),
        ("value=fn.now(), default=fn.now()", ["A computed column has no default", "leave default= out"]),
    ],
)
def test_what_is_no_default_is_refused(project, options, words):
    error = project.error(TABLE.format(options))
    told = error["detail"] + " " + error["hint"]
    assert all(word in told for word in words), told
    assert error["code"] == "app_invalid"


@pytest.mark.parametrize(
    ("value", "instead"),
    [("datetime.datetime.now", "now()"), ("uuid.uuid4", "uuid4()")],
)
def test_a_function_of_python_that_is_not_called_leads_to_ours(project, value, instead):
    error = project.error(f"import datetime, uuid\n{TABLE.format(f'value={value}')}")
    assert f"Use {instead} of appdb.functions" in error["hint"]
