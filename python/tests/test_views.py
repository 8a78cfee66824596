"""Views in the manifest, and what their declarations refuse, at their line and with what to write."""

import textwrap

import pytest
from conftest import HEAD

TOP = (
    "from typing import Iterator, TypedDict\n"
    "from appdb.functions.string import string_splitter\n"
    "class R(TypedDict):\n"
    "    word: str\n"
    "@db.iterator\n"
    "def words(text: str) -> Iterator[R]:\n"
    "    yield {}\n"
    "class Docs(Base, name='docs'):\n"
    "    id = db.Column(type=db.Int, primary_key=True)\n"
    "    title: db.String\n"
    "    body: db.String | None\n"
    "    up = upper(title)\n"
    "    half = db.Column(value=title + 'x', stored=False)\n"
    "class Other(Base, name='other'):\n"
    "    n: db.Int\n"
)
SPLIT = "iterator=string_splitter(Docs.body, separators='sentence')"

# Name: (lines, parts of the detail, part of the hint, the marked line).
REFUSED = {
    "a base that is text": ("class V(Base, name='v', base='docs'):\n    pass\n", ["base= of the model V", "'docs'"], "base=Docs", 1),
    "a base that is a column": ("class V(Base, name='v', base=Docs.id):\n    pass\n", ["not a model"], "Name a model", 1),
    "a base that is its own Base": ("class V(Base, name='v', base=Base):\n    pass\n", ["not a model"], "Name a model", 1),
    "a model of another Base": (
        "B2 = db.model_base()\nclass V(B2, name='v', base=Docs):\n    pass\n",
        ["names Docs", "another model_base()"],
        "one base",
        2,
    ),
    "a join": (
        "class V(Base, name='v', base=Docs.join(Other, on=Docs.id == Other.n)):\n    pass\n",
        ["uses join()"],
        "Use join() in queries over V.",
        1,
    ),
    "group_by": ("class V(Base, name='v', base=Docs.group_by(Docs.id)):\n    pass\n", ["uses group_by()"], "queries over V", 1),
    "order_by": ("class V(Base, name='v', base=Docs.order_by(Docs.id)):\n    pass\n", ["uses order_by()"], "queries over V", 1),
    "limit": ("class V(Base, name='v', base=Docs.limit(3)):\n    pass\n", ["uses limit()"], "queries over V", 1),
    "distinct": ("class V(Base, name='v', base=Docs.distinct()):\n    pass\n", ["uses distinct()"], "queries over V", 1),
    "a condition over another model": (
        "class V(Base, name='v', base=Docs.where(Other.n > 1)):\n    pass\n",
        ["'n'", "Other"],
        "Docs",
        1,
    ),
    "a value without a name": (
        "class V(Base, name='v', base=Docs.select(Docs.id, upper(Docs.title))):\n    pass\n",
        ["upper(title)", "without a name"],
        "select(value=upper(title))",
        1,
    ),
    "a type without a value": (
        "class V(Base, name='v', base=Docs):\n    n: db.Int\n",
        ["'n'", "view V", "no rows of its own"],
        "Declare 'n' in Docs",
        2,
    ),
    "a type of db.Column": (
        "class V(Base, name='v', base=Docs):\n    n = db.Column(type=db.Int)\n",
        ["'n'", "no rows of its own"],
        "Declare 'n' in Docs",
        2,
    ),
    "a primary key": (
        "class V(Base, name='v', base=Docs):\n    n = db.Column(value=Docs.id + 1, primary_key=True)\n",
        ["primary_key="],
        "Leave primary_key= out.",
        2,
    ),
    "a name that the view shows": (
        "class V(Base, name='v', base=Docs):\n    title = upper(Docs.body)\n",
        ["'title'", "Docs already"],
        "another name",
        2,
    ),
    "a name that the view shows, in upper case": (
        "class V(Base, name='v', base=Docs):\n    Title = upper(Docs.body)\n",
        ["'Title'"],
        "another name",
        2,
    ),
    "a column that select leaves out": (
        "class V(Base, name='v', base=Docs.select(Docs.id)):\n    n = upper(Docs.title)\n",
        ["'n' reads 'title'", "does not select"],
        ".select(Docs.title, ...)",
        2,
    ),
    "a column of another model": (
        "class V(Base, name='v', base=Docs):\n    m = Other.n + 1\n",
        ["'m' reads 'n' of Other"],
        "Its columns are",
        2,
    ),
    "an aggregate": (
        "class V(Base, name='v', base=Docs):\n    m = fn.sum(Docs.id)\n",
        ["value of many rows"],
        "in a function marked @query",
        2,
    ),
    "an iterator without a base": (f"class V(Base, name='v', {SPLIT}):\n    pass\n", ["no base="], "base=Docs", 1),
    "an iterator that is not called": (
        "class V(Base, name='v', base=Docs, iterator=string_splitter):\n    pass\n",
        ["not a call of an iterator"],
        "string_splitter(Docs.body",
        1,
    ),
    "an iterator that is a value": (
        "class V(Base, name='v', base=Docs, iterator=Docs.body):\n    pass\n",
        ["not a call of an iterator"],
        "string_splitter(Docs.body",
        1,
    ),
    "an iterator over another model": (
        "class V(Base, name='v', base=Other, iterator=words(Docs.title)):\n    pass\n",
        ["reads 'title' of Docs"],
        "columns of Other",
        1,
    ),
    "a column with an output's name": (
        "class V(Base, name='v', base=Docs, iterator=words(Docs.title)):\n    word = upper(Docs.title)\n",
        ["'word'"],
        "another name",
        2,
    ),
    "a column called pos": (
        "class V(Base, name='v', base=Docs, iterator=words(Docs.title)):\n    pos = Docs.id + 1\n",
        ["'pos'"],
        "another name",
        2,
    ),
    "a selected value with an output's name": (
        "class W(Base, name='w', base=Docs.select(Docs.id, Docs.title, word=Docs.up), iterator=words(Docs.title)):\n    pass\n",
        ["'word'"],
        "",
        1,
    ),
    "a number of rows": (
        "class V(Base, name='v', base=Docs.sample(n=3)):\n    pass\n",
        ["uses sample(n=3)", "whether a row is one of 3 depends on the other rows"],
        "Write Docs.sample(fraction=0.1), or use sample(n=3) in queries over V.",
        1,
    ),
    "a sample without a key": (
        "class V(Base, name='v', base=Other.sample(fraction=0.5)):\n    pass\n",
        ["by their primary key, and Other has none"],
        "Declare one in Other",
        1,
    ),
    "a sample of made rows": (
        f"class P(Base, name='p', base=Docs, {SPLIT}):\n    pass\nclass V(Base, name='v', base=P.sample(fraction=0.5)):\n    pass\n",
        ["the rows of P are made of those of Docs"],
        "base=Docs.sample(fraction=0.5)",
        3,
    ),
    "a sample by a hidden key": (
        "class P(Base, name='p', base=Docs.select(Docs.title)):\n    pass\nclass V(Base, name='v', base=P.sample(fraction=0.5)):\n    pass\n",
        ["P does not show 'id'"],
        "Add it to select() in base= of P",
        3,
    ),
    "a stratified sample": (
        "class V(Base, name='v', base=Docs.sample(fraction_per_stratum=0.5, stratify_by=Docs.title)):\n    pass\n",
        ["sample(fraction_per_stratum=) is not supported yet"],
        "Write sample(n=100) or sample(fraction=0.1)",
        1,
    ),
    "itself": ("class V(Base, name='v', base=V):\n    pass\n", ["V"], "", 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_declaration_that_a_view_cannot_have_is_refused_at_its_line(project, name):
    source, parts, hint, line = REFUSED[name]
    error = project.error(TOP + source)
    assert error["code"] == "app_invalid"
    for part in parts:
        assert part in error["detail"], error
    assert hint in error["hint"], error
    lines = (textwrap.dedent(HEAD) + TOP + source).splitlines()
    first = lines.index(source.splitlines()[0])
    assert error["source"] == {"file": "app.py", "line": first + line}, (error, first)


def view(project, source, name="v"):
    tables = project.manifest(TOP + source)["tables"]
    return next(table for table in tables if table["name"] == name)


def test_a_filtered_view_has_its_condition_and_own_columns_only(project):
    found = view(project, "class V(Base, name='v', base=Docs.where(Docs.id > 3)):\n    m = upper(Docs.up)\n    mm = m + Docs.title\n")
    assert found["view"]["base"] == "docs"
    assert found["view"]["filter"]["text"] == "id > 3"
    assert found["view"]["columns"] is None
    assert [column["name"] for column in found["columns"]] == ["m", "mm"]
    assert found["primary_key"] == []


def test_selected_values_are_columns_before_those_of_the_body(project):
    found = view(
        project,
        "class V(Base, name='v', base=Docs.select(Docs.id, long=Docs.title + Docs.up)):\n    loud = upper(long)\n",
    )
    assert found["view"]["columns"] == ["id"]
    assert [column["name"] for column in found["columns"]] == ["long", "loud"]


def test_a_view_over_a_view_reads_columns_of_both(project):
    found = view(
        project,
        "class U(Base, name='u', base=Docs):\n    m = upper(Docs.up)\n"
        "class V(Base, name='v', base=U.where(U.m == 'A')):\n    a = U.m + Docs.title\n    b = U.title + a\n",
    )
    assert found["view"]["base"] == "u"
    assert [column["computed"]["text"] for column in found["columns"]] == ["m + title", "title + a"]


def test_unstored_columns_of_a_view_are_stored_nowhere(project):
    found = view(
        project,
        "class V(Base, name='v', base=Docs):\n    m = db.Column(value=upper(Docs.title), stored=False)\n    k = m + 'x'\n",
    )
    assert [column["name"] for column in found["columns"]] == ["k"]


def test_outputs_are_named_in_the_body_and_hide_columns_of_the_base(project):
    found = view(
        project,
        "class D2(Base, name='d2'):\n    word: db.String\n"
        "class V(Base, name='v', base=D2, iterator=words(D2.word)):\n    loud = upper(word)\n    n = pos + 1\n",
    )
    assert [column["name"] for column in found["columns"]] == ["loud", "n"]
    assert [output["name"] for output in found["view"]["iterator"]["outputs"]] == ["word"]
    error = project.error(
        TOP + "class D2(Base, name='d2'):\n    word: db.String\n"
        "class V(Base, name='v', base=D2, iterator=words(D2.word)):\n    loud = upper(D2.word)\n"
    )
    assert "whose name the iterator's output has" in error["detail"]
    assert "select(other=D2.word)" in error["hint"]


def test_an_argument_that_an_unstored_output_needs_is_not_hidden(project):
    error = project.error(
        TOP + "class Pair(R):\n    size: int\n"
        "@db.iterator(unstored_cols=['word'])\n"
        "def pairs(text: str) -> Iterator[Pair]:\n    yield {'word': text, 'size': 1}\n"
        "class D2(Base, name='d2'):\n    word: db.String\n    size: db.String\n"
        "class V(Base, name='v', base=D2, iterator=pairs(D2.size)):\n    pass\n"
    )
    assert "reads 'size' of D2, whose name an output has; 'word', which is not stored, needs it" in error["detail"]
    assert error["hint"] == "Give the value another name in base=: base=D2.select(other=D2.size)"


def route(project, code):
    found = project.manifest(TOP + VIEWS + "from appdb.serving import Router\napi = Router(name='api')\n" + code)
    return found["services"][0]["routes"][0]


VIEWS = """
class D2(Base, name='d2'):
    id = db.Column(type=db.Int, primary_key=True)
    body: db.String
    word: db.String | None
    up = upper(body)
class Some(Base, name='some', base=D2.where(D2.id > 0)):
    pass
class V(Base, name='v', base=Some, iterator=words(Some.body)):
    loud = upper(word)
class Long(Base, name='long', base=V.where(V.pos > 0)):
    pass
"""


def test_a_compute_route_over_made_rows_takes_a_row_of_the_table(project):
    made = route(project, "api.add_compute_route(Long, path='/v')\n")
    assert (made["table"], made["inputs"]) == ("long", ["id", "body", "word"])
    assert made["outputs"] == ["pos", "word", "id", "body", "up", "loud"]
    made = route(project, "api.add_compute_route(V, path='/v', inputs=[V.id, Some.body, D2.word], outputs=[V.loud])\n")
    assert made["inputs"] == ["id", "body", "word"]


def test_a_compute_route_over_made_rows_refuses_what_is_made(project):
    top = TOP + VIEWS + "from appdb.serving import Router\napi = Router(name='api')\n"
    error = project.error(top + "api.add_compute_route(V, path='/v', inputs=[V.word])\n")
    assert error["detail"] == "inputs= names 'word' of V, which is made; a request has values of D2."
    assert error["hint"] == "Name columns of D2."
    error = project.error(top + "api.add_compute_route(V, path='/v', inputs=[D2.up])\n")
    assert "Column 'up' is computed" in error["detail"]
    error = project.error(top + "@api.compute_route(V, path='/v')\ndef made(word: str):\n    return word\n")
    assert error["detail"] == "A function cannot make the response of /v: V is a view with an iterator."
    assert error["hint"] == "Write add_compute_route(V, path='/v'), which returns a list of its rows."
