"""`.apply(function)`: unmarked functions of modules, called with one value."""

import pytest

HEAD = """
import json
from datetime import datetime
from textwrap import shorten

def slug(text: str) -> str:
    return text.lower().replace(" ", "-")

def parts(text):
    return text.split() or None

def fail(value):
    raise ValueError(f"no {value}")

async def later(value) -> str:
    return ""

def outer():
    def inner(value) -> str:
        return value
    return inner

closure = outer()

class Maker:
    def made(self, value) -> str:
        return value
"""
MODEL = HEAD + """
class A(Base, name='a'):
    s: db.String | None
    n: db.Int | None
    j: db.Json | None
"""


def test_a_function_of_a_module_computes_a_column(compute):
    values, errors = compute(
        MODEL
        + """
    low = s.apply(slug)
    words = s.apply(parts, col_type=db.Json)
    text = (n + 1).apply(str)
    size = s.apply(len, db.Int)
    dumped = j.apply(json.dumps, col_type=db.String)
    again = low.apply(slug).upper()
    bad = n.apply(fail, db.String)
""",
        ["A b", 1, '{"x":[1]}'],
        [None, None, None],
        ["", 2, "2"],
    )
    assert values[0] == dict(
        low="a-b", words='["A","b"]', text="2", size=3, dumped='{"x": [1]}', again="A-B", bad=None
    )
    assert set(values[1].values()) == {None}
    assert values[2]["words"] is None and values[2]["dumped"] == "2"
    assert errors[1] is None and errors[0]["bad"]["type"] == "ValueError" and errors[0]["bad"]["message"] == "no 1"


def test_it_prints_with_its_type_and_is_listed_by_module_and_name(project):
    document = project.manifest(MODEL + "    low = s.apply(slug)\n    size = (s + 'x').apply(len, int)\n")
    texts = [c["computed"]["text"] for c in document["tables"][0]["columns"] if c["computed"]]
    assert texts == ["s.apply(slug, String)", "(s + 'x').apply(len, Int)"]
    functions = [(f["id"], f["module"], f["name"]) for f in document["functions"]]
    assert functions == [("app:slug#apply", "app", "slug"), ("builtins:len#apply", "builtins", "len")]
    assert document["functions"][0]["digest"] != document["functions"][1]["digest"]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("x = s.apply(lambda v: v, col_type=db.String)", ["lambda", "Write it with def"]),
        ("x = s.apply(closure)", ["inner", "inside a function", "top of its module"]),
        ("x = s.apply(Maker().made)", ["made"]),
        ("x = s.apply('slug')", ["wants a function, not 'slug'"]),
        ("x = s.apply(parts)", [".apply(parts) does not say what parts returns", "col_type=db.String"]),
        ("x = s.apply(slug, col_type=set)", ["col_type of .apply(slug)", "set"]),
        ("x = s.apply(later)", ["async function later", "@udf"]),
        ("x = s.apply(upper, db.String)", ["upper is called, not applied", "upper(s)"]),
        ("x = s.apply(datetime.fromisoformat, db.Timestamp)", ["fromisoformat", "no other process finds it"]),
    ],
)
def test_what_no_other_process_finds_is_refused_with_what_to_do(project, written, words):
    error = project.error(MODEL + f"    {written}\n")
    assert error["code"] == "app_invalid", error
    for word in words:
        assert word in error["detail"] + error["hint"], error
