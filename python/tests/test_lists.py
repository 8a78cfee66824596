"""map, filter and sort over the elements of a Json value, and to_list of an array."""

import pytest
from conftest import compute_cases

HEAD = "class A(Base, name='a'):\n    doc: db.Json | None\n    n: db.Int | None\n"
ROWS = '[{"a":2,"t":["x","y"]},{"a":1,"t":[]},{"t":["z"]}]'
NUMBERS = "[3,null,1]"

GIVES = [
    ("doc.map(lambda x: x.a)", ROWS, "[2,1,null]"),
    ("fn.map(doc, lambda x, n=n: x.a.astype(db.Int) * n)", ROWS, "[20,10,null]"),
    ("fn.map(doc, lambda x, n=n: {'k': x.a, 'n': n})", ROWS, '[{"k":2,"n":10},{"k":1,"n":10},{"k":null,"n":10}]'),
    ("doc.map(lambda x: x.t.map(lambda y: fn.string.upper(y)))", ROWS, '[["X","Y"],[],["Z"]]'),
    ("doc.map(lambda x: x.t.map(lambda y: [x.a, y]))", ROWS, '[[[2,"x"],[2,"y"]],[],[[null,"z"]]]'),
    ("doc.map(lambda x: x.t.len())", ROWS, "[2,0,1]"),
    ("doc.map(lambda x: 'é')", "[1,2]", '["é","é"]'),
    ("doc.map(lambda x: x)", "[]", "[]"),
    ("doc.map(lambda x: x)", '{"a":1}', None),
    ("doc.map(lambda x: x)", "5", None),
    ("doc.filter(lambda x: x.a == 1)", ROWS, '[{"a":1,"t":[]}]'),
    ("doc.filter(lambda x: x.t)", ROWS, '[{"a":2,"t":["x","y"]},{"t":["z"]}]'),
    ("doc.filter(lambda x, n=n: x.astype(db.Int) < n)", NUMBERS, "[3,1]"),
    ("doc.sort()", NUMBERS, "[1,3,null]"),
    ("doc.sort(asc=False)", NUMBERS, "[null,3,1]"),
    ("fn.sort(doc, lambda x: x.a)", ROWS, '[{"a":1,"t":[]},{"a":2,"t":["x","y"]},{"t":["z"]}]'),
    ("fn.sort(doc, key=lambda x: -x.a.astype(db.Int)).map(lambda x: x.a)", ROWS, "[2,1,null]"),
    ("doc.sort(lambda x: x.astype(db.Int) % 2)", "[3,2,1,4]", "[2,4,3,1]"),
    ("doc.sort(lambda x: x.astype(db.Int) % 2, asc=False)", "[3,2,1,4]", "[3,1,2,4]"),
    ("doc.map(lambda x: x.a).filter(lambda x: x != None).sum()", ROWS, 3.0),
]


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    cases = [(expression, [doc, 10]) for expression, doc, _ in GIVES]
    values = compute_cases(tmp_path_factory.mktemp("values"), HEAD, cases)
    nulls = compute_cases(tmp_path_factory.mktemp("nulls"), HEAD, [(one, [None, 10]) for one, _ in cases])
    return {(one, doc): pair for (one, doc, _), pair in zip(GIVES, zip(values, nulls))}


@pytest.mark.parametrize(("expression", "doc", "wanted"), GIVES)
def test_gives(given, expression, doc, wanted):
    assert given[expression, doc] == (wanted, None)


def test_values_without_a_common_order_are_an_error_of_the_cell(compute):
    _, errors = compute("class A(Base, name='a'):\n    doc: db.Json\n    x = doc.sort()\n", ['[1,"a"]'])
    assert errors[0]["x"]["type"] == "TypeError" and errors[0]["x"]["function"] == "sort"


def test_an_element_is_known_by_the_number_of_functions_between(project):
    columns = project.columns(
        "class A(Base, name='a'):\n    doc: db.Json\n"
        "    inner = doc.map(lambda t: t.a)\n"
        "    x = doc.map(lambda t, inner=inner: t.b.map(lambda u: [t.c, u, inner]))\n"
    )
    outer = columns["x"]["computed"]["expr"]["args"][1]
    assert (outer["fn"], outer["args"][0]["base"]["depth"]) == ("map", 0)
    t, u, inner = outer["args"][1]["items"]
    assert (t["base"]["depth"], u["depth"]) == (1, 0)
    assert inner["node"] == "column"


def test_the_name_of_the_parameter_is_no_part_of_the_expression(project):
    one = project.columns("class A(Base, name='a'):\n    doc: db.Json\n    x = doc.map(lambda tag: tag.name)\n")["x"]
    two = project.columns("class A(Base, name='a'):\n    doc: db.Json\n    x = fn.map(doc, lambda t: t['name'])\n")["x"]
    assert one["computed"] == two["computed"]


def test_what_is_wrong_with_a_function_over_elements_is_said(project):
    for body, said in {
        "doc.map('name')": "not 'name'",
        "s.map(lambda x: x)": "has no 'map'",
        "fn.map(s, lambda x: x)": "s is String",
        "doc.filter(lambda x: 1)": "gives Int",
        "doc.sort(asc=0)": "True or False",
        "doc.map(lambda x: [x, s])": "knows no 's'",
    }.items():
        error = project.error(f"class A(Base, name='a'):\n    doc: db.Json\n    s: db.String\n    y = {body}\n")
        assert said in error["detail"], error


def test_a_file_may_use_python_s_own_map_and_filter_after_importing_ours():
    from appdb.functions import filter, map

    assert list(map(str, filter(None, [0, 1]))) == ["1"]


def test_an_array_becomes_nested_lists(project):
    column = project.columns("class A(Base, name='a'):\n    a: db.Array[(2, 2), db.Float]\n    x = a.to_list()\n")["x"]
    assert (column["type"], column["computed"]["expr"]["fn"]) == ({"kind": "json"}, "array.to_list")

    from appdb.functions.array import to_list

    assert to_list([[1.5, 2.0]]) == [[1.5, 2.0]]
