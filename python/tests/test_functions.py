"""Functions of the library in other forms than their examples: by keyword, chained, of other types, without a
namespace."""

import re

import pytest
from conftest import LIBRARY, compute_cases

HEAD = """class A(Base, name='a'):
    doc: db.Json | None
    s: db.String | None
    n: db.Int | None
    ts: db.Timestamp | None
"""
PLACES = ("doc", "s", "n", "ts")
TS = "2024-12-30T23:30:15.123456Z"
ERROR = object()

# (expression, what its column holds, the value)
GIVES = [
    ("doc.get('a', default=3)", "{}", "3"),
    ("fn.json.dumps(doc)", '{"é":[1.50,null]}', '{"\\u00e9": [1.5, null]}'),
    ("doc.a.b.len()", '{"a":{"b":[1,2,3]}}', 3),
    ("doc.a.len()", "{}", None),
    ("doc.sum()", "[1e308,1e308]", ERROR),
    ("doc.a.astype(db.Float).ceil()", '{"a":1.5}', 2.0),
    ("fn.math.sqrt(doc)", "4", 2.0),
    ("s.pad(3, side='right', fillchar='.')", "a", "a.."),
    ("s.replace_re('[0-9]', '#', n=1)", "1b2", "#b2"),
    ("s.slice(step=-1)", "abc", "cba"),
    ("s.rindex('a', end=2)", "aba", 0),
    ("s.fill(6, initial_indent='> ')", "aa bb", "> aa\nbb"),
    ("s.wrap(4, initial_indent='> ')", "aa", '["> aa"]'),
    ("s.format(s)", "{}!", "{}!!"),
    ("fn.string.format('{x}!', x=s)", "a", "a!"),
    ("n.abs()", -2, 2.0),
    ("n.make_timestamp(2, 29, minute=5)", 2024, "2024-02-29T00:05:00Z"),
    ("n.make_date(2, 29)", 2024, "2024-02-29"),
    ("fn.cast(n, db.String)", 12, "12"),
    ("fn.timestamp.hour(ts)", TS, 23),
    ("ts.astimezone('America/New_York').hour", TS, 18),
    ("ts.astimezone('Asia/Tokyo').date()", TS, "2024-12-31"),
    ("ts.astimezone('Asia/Tokyo').strip_timezone()", TS, "2024-12-31T08:30:15.123456Z"),
    ("ts.strip_timezone().isoformat()", TS, "2024-12-30T23:30:15.123456"),
    ("ts.strip_timezone().posix_timestamp()", TS, 1735601415.123456),
    ("ts.astimezone('Asia/Tokyo').strip_timezone() > ts", TS, True),
    ("ts.strip_timezone() == ts", TS, True),
    ("ts.strip_timezone().isin([ts])", TS, True),
    ("ts.strip_timezone().astimezone('Asia/Tokyo').hour", TS, 8),
    ("ts.replace(year=2023, microsecond=0)", TS, "2023-12-30T23:30:15Z"),
    ("ts.isoformat(sep=' ', timespec='seconds')", TS, "2024-12-30 23:30:15+00:00"),
]
# Results for null arguments; every other expression gives null.
OF_NULL = {"doc.get('a', default=3)": "3", "fn.string.format('{x}!', x=s)": "None!"}


def column(expression):
    return re.search(rf"\b({'|'.join(PLACES)})\b", expression)[1]


def row(expression, value):
    cells = [None] * len(PLACES)
    cells[PLACES.index(column(expression))] = value
    return cells


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    cases = [(expression, row(expression, value)) for expression, value, _ in GIVES]
    values = compute_cases(tmp_path_factory.mktemp("values"), HEAD, cases)
    nulls = compute_cases(tmp_path_factory.mktemp("nulls"), HEAD, [(one, [None] * len(PLACES)) for one, _ in cases])
    return {(one, value): pair for (one, value, _), pair in zip(GIVES, zip(values, nulls))}


@pytest.mark.parametrize(("expression", "value", "wanted"), GIVES)
def test_gives(given, expression, value, wanted):
    result, of_null = given[expression, value]
    if wanted is ERROR:
        assert isinstance(result, dict) and result["type"] and result["message"], result
    else:
        assert (result, type(result)) == (wanted, type(wanted))
    assert of_null == OF_NULL.get(expression)


def test_each_name_of_the_front_page_is_there():
    import ast

    import appdb.functions as fn

    tree = ast.parse((LIBRARY / "appdb" / "functions" / "__init__.pyi").read_text())
    for node in tree.body:
        for alias in node.names:
            assert getattr(fn, alias.name) is not None


def test_over_plain_values_a_function_just_runs():
    from datetime import datetime, timezone

    from appdb.functions import json, math, timestamp

    assert json.get({"a": 1}, "b", default=2) == 2
    assert math.round(2.675, 2) == 2.67
    assert timestamp.replace(datetime(2024, 1, 2, tzinfo=timezone.utc), 2023).year == 2023


def test_a_file_may_name_python_s_own_sum_min_and_max_after_importing_ours():
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
    assert "cannot be called" in error["detail"] and error["hint"] == "Omit the parentheses."


def test_a_column_that_hides_a_verb_is_named(project):
    source = "class A(Base, name='a'):\n    where: db.Int\n@db.query\ndef q():\n    return A.where(A.where > 1)\n"
    error = project.error(source)
    assert error["hint"] == "The column 'where' hides the verb where() of queries; give the column another name."


def test_a_function_of_a_namespace_is_pointed_to_when_asked_at_the_top(project):
    error = project.error("class A(Base, name='a'):\n    n: db.Float\n    x = fn.sqrt(n)\n")
    assert error["hint"] == "Write fn.math.sqrt"


def test_an_aggregate_is_a_node_of_its_own(project):
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
