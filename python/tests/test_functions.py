"""Functions of Json values, numbers, timestamps, dates and UUIDs: as functions, as methods, as properties."""

import importlib

import pytest
from conftest import LIBRARY, compute_cases

HEAD = """class A(Base, name='a'):
    doc: db.Json | None
    n: db.Int | None
    f: db.Float | None
    ts: db.Timestamp | None
    d: db.Date | None
    u: db.UUID | None
"""
PLACES = {"doc": 0, "n": 1, "f": 2, "ts": 3, "d": 4, "u": 5}
TS = "2024-12-30T23:30:15.123456Z"
ERROR = object()

# (expression, what its column holds, the value)
GIVES = [
    ("doc.concat([3])", "[1,2]", "[1,2,3]"), ("doc.concat([3])", "{}", ERROR), ("doc.contains('a')", '["a"]', True),
    ("doc.contains('a')", '{"a":null}', True), ("doc.contains('a')", '"a"', False), ("doc.contains(1)", "[1.0]", True),
    ("doc.contains([1])", '{"a":1}', False), ("doc.count(1)", "[1,2,1]", 2), ("doc.count('a')", '"aa"', ERROR),
    ("fn.json.dumps(doc)", '{"é":[1.50,null]}', '{"\\u00e9": [1.5, null]}'), ("doc.flatten()", "[1,[2,[3]],[]]", "[1,2,[3]]"),
    ("doc.flatten()", "{}", ERROR), ("doc.get('a', 3)", '{"a":1}', "1"), ("doc.get('a', 3)", "{}", "3"), ("doc.get('a', 3)", '{"a":null}', None),
    ("doc.get('a', 3)", "[1]", "3"), ("doc.get('a')", "{}", None), ("doc.get('a', {'b': [1]})", "{}", '{"b":[1]}'), ("doc.is_empty()", "[]", True),
    ("doc.is_empty()", "0", False), ("doc.is_empty()", '""', True), ("doc.items()", '{"b":1,"a":null}', '[["b",1],["a",null]]'),
    ("doc.keys()", '{"b":1,"a":2}', '["b","a"]'), ("doc.keys()", "[1]", ERROR), ("doc.values()", '{"b":1,"a":[2]}', "[1,[2]]"), ("doc.len()", "[1,2]", 2),
    ("doc.len()", '{"a":1}', 1), ("doc.len()", '"é🎉"', 2), ("doc.len()", "5", ERROR), ("doc.a.b.len()", '{"a":{"b":[1,2,3]}}', 3),
    ("doc.a.len()", "{}", None), ("doc.merge({'a': 2})", '{"a":1,"b":3}', '{"a":2,"b":3}'), ("doc.merge({'a': 2})", "[1]", ERROR), ("doc.max()", "[1,2.5]", 2.5),
    ("doc.max()", "[]", None), ("doc.min()", "[3,2]", 2.0), ("doc.min()", "[true]", ERROR), ("doc.mean()", "[1,2]", 1.5), ("doc.mean()", "[]", None),
    ("doc.sum()", "[0.1,0.2,0.3]", 0.6), ("doc.sum()", "[9007199254740993,-1]", 9007199254740992.0), ("doc.sum()", '["a"]', ERROR),
    ("doc.sum()", "[1e308,1e308]", ERROR), ("f.abs()", -2.5, 2.5), ("n.abs()", -2, 2.0), ("f.ceil()", -0.5, 0.0), ("f.ceil()", 1.2, 2.0),
    ("f.floor()", -1.2, -2.0), ("f.exp()", 0.0, 1.0), ("f.exp()", 1000.0, ERROR), ("f.log()", 1.0, 0.0), ("f.log()", 0.0, ERROR), ("f.log10()", 1000.0, 3.0),
    ("f.pow(2.0)", 3.0, 9.0), ("f.pow(-1)", 0.0, ERROR), ("f.pow(0.5)", -8.0, ERROR), ("f.round()", 2.5, 2.0), ("f.round(2)", 2.675, 2.67),
    ("f.round(digits=-2)", 12350.0, 12400.0), ("f.sqrt()", 2.25, 1.5), ("f.sqrt()", -1.0, ERROR), ("f.to_int()", -2.7, -2), ("f.to_int()", 1e300, ERROR),
    ("n.bitwise_and(6)", -3, 4), ("n.bitwise_or(6)", -3, -1), ("n.bitwise_xor(6)", -3, -5), ("n.to_float()", 3, 3.0), ("ts.year", TS, 2024), ("ts.month", TS, 12),
    ("ts.day", TS, 30), ("ts.hour", TS, 23), ("ts.minute", TS, 30), ("ts.second", TS, 15), ("ts.microsecond", TS, 123456), ("ts.date()", TS, "2024-12-30"),
    ("ts.astimezone('America/New_York').hour", TS, 18), ("ts.astimezone('Asia/Tokyo').date()", TS, "2024-12-31"), ("ts.astimezone('Asia/Tokyo')", TS, TS),
    ("ts.astimezone('No/Where')", TS, ERROR), ("ts.astimezone('Asia/Tokyo').strip_timezone()", TS, "2024-12-31T08:30:15.123456Z"),
    ("ts.strip_timezone().isoformat()", TS, "2024-12-30T23:30:15.123456"), ("ts.strip_timezone().posix_timestamp()", TS, 1735601415.123456),
    ("ts.astimezone('Asia/Tokyo').strip_timezone() > ts", TS, True), ("ts.strip_timezone() == ts", TS, True), ("ts.strip_timezone().isin([ts])", TS, True),
    ("ts.strip_timezone().astimezone('Asia/Tokyo').hour", TS, 8), ("ts.replace(year=2023, microsecond=0)", TS, "2023-12-30T23:30:15Z"),
    ("ts.replace(2023, None, 1).day", TS, 1), ("ts.replace(month=2)", TS, ERROR), ("ts.isoformat()", TS, "2024-12-30T23:30:15.123456+00:00"),
    ("ts.isoformat(sep=' ', timespec='seconds')", TS, "2024-12-30 23:30:15+00:00"), ("ts.isoformat(timespec='week')", TS, ERROR),
    ("ts.strftime('%Y/%m/%d %H:%M')", TS, "2024/12/30 23:30"), ("ts.weekday()", TS, 0), ("ts.isoweekday()", TS, 1), ("ts.toordinal()", TS, 739250),
    ("ts.isocalendar()", TS, '{"year":2025,"week":1,"weekday":1}'), ("ts.posix_timestamp()", TS, 1735601415.123456), ("n.make_timestamp(2, 29)", 2024, "2024-02-29T00:00:00Z"),
    ("fn.timestamp.make_timestamp(n, 2, 28, 1, 2, 3, 4)", 2023, "2023-02-28T01:02:03.000004Z"), ("fn.timestamp.make_timestamp(n, 2, 29)", 2023, ERROR),
    ("d.year", "2024-12-30", 2024), ("d.month", "2024-12-30", 12), ("d.day", "2024-12-30", 30), ("d.add_days(2)", "2024-12-30", "2025-01-01"),
    ("d.add_days(1)", "9999-12-31", ERROR), ("d.replace(day=1)", "2024-12-30", "2024-12-01"), ("n.make_date(2, 29)", 2024, "2024-02-29"),
    ("fn.date.make_date(2024, n, 1)", 13, ERROR), ("d.isoformat(sep=' ')", "2024-12-30", "2024-12-30"), ("d.strftime('%d.%m.%y')", "2024-12-30", "30.12.24"),
    ("d.weekday()", "2024-12-30", 0), ("d.isoweekday()", "2024-12-30", 1), ("d.toordinal()", "2024-12-30", 739250),
    ("d.isocalendar()", "2024-12-30", '{"year":2025,"week":1,"weekday":1}'), ("u.hex()", "0189dcf9-7e8b-7000-8000-00000000000f", "0189dcf97e8b7000800000000000000f"),
    ("u.to_string()", "0189dcf9-7e8b-7000-8000-00000000000f", "0189dcf9-7e8b-7000-8000-00000000000f"), ("fn.cast(n, db.String)", 12, "12"),
    ("fn.timestamp.hour(ts)", TS, 23), ("fn.math.sqrt(doc)", "4", 2.0), ("doc.a.astype(db.Float).ceil()", '{"a":1.5}', 2.0),
]  # fmt: skip
# What these give of a null; every other function gives null.
OF_NULL = {"doc.get('a', 3)": "3", "doc.get('a', {'b': [1]})": '{"b":[1]}', "doc.is_empty()": True}


def column(expression):
    names = [name for name in PLACES if f"{name}." in expression.replace("fn.", "") or f"({name}" in expression]
    return names[0] if names else "n"


def row(expression, value):
    cells = [None] * len(PLACES)
    cells[PLACES[column(expression)]] = value
    return cells


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    cases = [(expression, row(expression, value)) for expression, value, _ in GIVES]
    values = compute_cases(tmp_path_factory.mktemp("values"), HEAD, cases)
    nulls = compute_cases(tmp_path_factory.mktemp("nulls"), HEAD, [(one, [None] * 6) for one, _ in cases])
    return {(one, value): pair for (one, value, _), pair in zip(GIVES, zip(values, nulls))}


@pytest.mark.parametrize(("expression", "value", "wanted"), GIVES)
def test_gives(given, expression, value, wanted):
    result, of_null = given[expression, value]
    if wanted is ERROR:
        assert isinstance(result, dict) and result["type"] and result["message"], result
    else:
        assert (result, type(result)) == (wanted, type(wanted))
    assert of_null == OF_NULL.get(expression)


@pytest.mark.parametrize("name", ["json", "math", "timestamp", "date", "uuid"])
def test_every_function_is_tried_has_a_form_and_a_stub(name):
    namespace = importlib.import_module(f"appdb.functions.{name}")
    forms = importlib.import_module(f"appdb._forms.{name}").FORMS
    assert set(forms) == set(namespace.FUNCTIONS)
    stub = (LIBRARY / "appdb" / "functions" / f"{name}.pyi").read_text()
    tried = " ".join(expression for expression, _, _ in GIVES)
    for function in namespace.FUNCTIONS.values():
        assert f"def {function.name}(" in stub
        assert f".{function.name}" in tried or function.name in ("uuid4", "uuid7", "now")


def test_each_name_of_the_front_page_is_there():
    import ast

    import appdb.functions as fn

    tree = ast.parse((LIBRARY / "appdb" / "functions" / "__init__.pyi").read_text())
    for node in tree.body:
        for alias in node.names:
            assert getattr(fn, alias.name) is not None


def test_over_plain_values_a_function_just_runs(no_body):
    from datetime import datetime, timezone

    from appdb.functions import json, math, timestamp

    assert json.get({"a": 1}, "b", default=2) == 2
    assert math.round(2.675, 2) == 2.67
    assert timestamp.replace(datetime(2024, 1, 2, tzinfo=timezone.utc), 2023).year == 2023


def test_a_file_may_name_python_s_own_sum_min_and_max_after_importing_ours(no_body):
    from appdb.functions import max, min, sum

    assert (sum([1, 2], start=1), min(3, 2), max([1, 5], key=lambda n: -n)) == (4, 2, 1)


def test_a_json_value_s_own_keys_stay_readable_beside_its_methods(compute):
    source = "class A(Base, name='a'):\n    doc: db.Json\n    x = doc.len\n    y = doc.len()\n    z = doc.keys.values()\n"
    assert compute(source, ['{"len":7,"keys":{"a":1}}'])[0] == [{"x": "7", "y": 2, "z": "[1]"}]


def test_an_unknown_method_of_a_json_value_says_what_to_write(project):
    error = project.error("class A(Base, name='a'):\n    doc: db.Json\n    x = doc.a.upper()\n")
    assert error["hint"] == "Say that it is text first: doc.a.astype(db.String).upper(...)"
    error = project.error("class A(Base, name='a'):\n    doc: db.Json\n    x = doc.a.lenn()\n")
    assert error["hint"] == "Did you mean 'len'?"
    error = project.error("class A(Base, name='a'):\n    n: db.Int\n    x = n()\n")
    assert "cannot be called" in error["detail"]


def test_a_property_is_not_called(project):
    error = project.error("class A(Base, name='a'):\n    ts: db.Timestamp\n    x = ts.year()\n")
    assert "cannot be called" in error["detail"] and error["hint"] == "Leave out the parentheses."


def test_a_function_of_a_namespace_is_pointed_to_when_asked_at_the_top(project):
    error = project.error("class A(Base, name='a'):\n    n: db.Float\n    x = fn.sqrt(n)\n")
    assert error["hint"] == "Write fn.math.sqrt"


def test_an_aggregate_is_a_node_of_its_own(project, no_body):
    project.write(app="import appdb as db\nimport appdb.functions as fn\nBase = db.model_base()\nclass A(Base, name='a'):\n    n: db.Int\n    f: db.Float\n")
    import os
    import sys

    sys.path.insert(0, os.fspath(project.root))
    try:
        import app
        import appdb.functions as fn

        made = fn.sum(app.A.n + 1)
        assert made._node["node"] == "aggregate" and made._node["fn"] == "sum" and made._node["is_udf"] is False
        assert [arg["fn"] for arg in made._node["args"]] == ["op.add"]
        kinds = {name: (one._kind, one._nullable) for name, one in {
            "sum": made, "count": fn.count(app.A.f), "mean": fn.mean(app.A.n), "max": fn.max(app.A.f), "list": fn.json.make_list(app.A.n)
        }.items()}  # fmt: skip
        assert kinds == {
            "sum": ("int", True),
            "count": ("int", False),
            "mean": ("float", True),
            "max": ("float", True),
            "list": ("json", False),
        }
        assert repr(made) == "<Int | None: sum(n + 1)>"
    finally:
        sys.path.remove(os.fspath(project.root))
        sys.modules.pop("app", None)


def test_an_aggregate_is_refused_where_one_row_is_computed(project):
    error = project.error("class A(Base, name='a'):\n    n: db.Int\n    x = fn.sum(n)\n")
    assert "many rows" in error["detail"] and "@query" in error["hint"]
    error = project.error("class A(Base, name='a'):\n    s: db.String\nx = fn.sum(A.s)\n")
    assert error["detail"] == "sum() takes Int or Float; s is String."


def test_a_file_that_uses_text_alone_loads_no_other_namespace(project):
    project.write(
        app="import sys\nimport appdb as db\nfrom appdb.functions import upper\nBase = db.model_base()\n"
        "class A(Base, name='a'):\n    s: db.String\n    x = upper(s)\n    y = s.lower()\n"
        "loaded = [name for name in sys.modules if name.startswith('appdb.functions.') or name == 'difflib']\n"
        "print(sorted(loaded), file=sys.stderr)\n"
    )
    done = project.run()
    wanted = ["appdb.functions._builtin", "appdb.functions._methods", "appdb.functions.string"]
    assert done.returncode == 0 and done.stderr.decode().strip() == str(wanted)
