"""Views in the manifest, and routes and queries over them."""

import pytest
from test_view_errors import TOP

import appdb as db
from appdb.declare.errors import AppFileError
from appdb.worker.asking import model_verb

OVER_DOCS = (
    "class V(Base, name='v', base=Docs.where(Docs.id > 3)):\n    pass\n"
    "class Short(Base, name='short', base=Docs.select(Docs.id, big=upper(Docs.title)).where(Docs.body != None)):\n"
    "    twice = big + big\n"
    "class Words(Base, name='words', base=V, iterator=words(V.title)):\n    pass\n"
    "r = Router(name='r')\n"
)
CHANGES = {
    "r.add_insert_route(V, path='/x')": ("v is a view. Its rows are rows of", "router.add_insert_route(Docs, ...)"),
    "r.add_update_route(V, path='/x')": ("v is a view. Its rows are rows of", "router.add_update_route(Docs, ...)"),
    "r.add_delete_route(V, path='/x', match_columns=[Docs.title])": ("v is a view", "router.add_delete_route(Docs, ...)"),
    "r.add_insert_route(Words, path='/x')": ("words is a view. Its rows are made of rows of", "(Docs, ...)"),
    **{
        f"@r.post('/x')\nasync def x(id: int):\n    return await {model}.{call}": (f"{name} is a view", f"Docs.{verb}(...)")
        for model, name in (("V", "v"), ("Words", "words"))
        for verb, call in (("insert", "insert({'id': id})"), ("update", "update({'id': id})"), ("delete", "delete(id=id)"))
    },
}


@pytest.mark.parametrize("source", CHANGES)
def test_rows_of_views_are_not_changed_by_routes_and_handlers(project, source):
    detail, hint = CHANGES[source]
    error = project.error(TOP + OVER_DOCS + source)
    assert detail in error["detail"] and "the table docs" in error["detail"], error
    assert hint in error["hint"], error
    assert error["written"] == source.splitlines()[-1].strip()


@pytest.mark.parametrize("verb", ["insert", "update", "delete"])
def test_a_function_that_a_handler_calls_does_not_change_rows_of_a_view(verb):
    base = db.model_base()

    class Bread(base, name="bread"):
        id = db.Column(type=db.Int, primary_key=True)

    class Cheap(base, name="cheap", base=Bread.where(Bread.id > 3)):
        pass

    with pytest.raises(AppFileError) as caught:
        model_verb(Cheap.__appdb_table__, verb)
    assert caught.value.detail == "cheap is a view. Its rows are rows of the table bread."
    assert caught.value.hint == f"Name the model of that table: Bread.{verb}(...)"
    assert callable(model_verb(Bread.__appdb_table__, verb))


def test_a_query_over_a_view_names_the_columns_of_the_view(project):
    error = project.error(TOP + OVER_DOCS + "@db.query\ndef q():\n    return V.where(Docs.title == 'a')\n")
    assert "reads 'title' of Docs" in error["detail"]
    assert error["hint"] == "Write V.title"


def compute_inputs(project, options):
    (service,) = project.manifest(TOP + OVER_DOCS + f"r.add_compute_route(Short, path='/c'{options})\n")["services"]
    return service["routes"][0]["inputs"]


def test_a_compute_route_over_a_view_takes_the_columns_that_its_rows_are_made_of(project):
    assert compute_inputs(project, "") == ["id", "title", "body"]
    assert compute_inputs(project, ", inputs=[Short.id, Docs.title, 'body'], outputs=['twice']") == ["id", "title", "body"]


COMPUTED = {
    "inputs=[Short.id, Short.big]": ("'big' is computed", "Name stored columns of Docs."),
    "inputs=[Docs.id]": ("lack 'title'", "Add 'title' to inputs."),
    "inputs=[Other.n]": ("'n' of the model Other", "Name columns of Docs."),
}


@pytest.mark.parametrize("option", COMPUTED)
def test_a_compute_route_over_a_view_refuses_other_inputs(project, option):
    detail, hint = COMPUTED[option]
    error = project.error(TOP + OVER_DOCS + f"r.add_compute_route(Short, path='/c', {option})\n")
    assert detail in error["detail"] and hint in error["hint"], error


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
    assert error["hint"] == "Add .select(word_of_base=D2.word) to base=, and write word_of_base here in place of D2.word"


def test_the_hint_for_a_hidden_column_works_when_typed(project):
    d3 = "class D3(Base, name='d3'):\n    id = db.Column(type=db.Int, primary_key=True)\n    word: db.String\n    n: db.Int\n"
    error = project.error(
        TOP + d3 + "class V(Base, name='v', base=D3, iterator=words(D3.word)):\n    loud = upper(D3.word)\n"
    )
    assert ".select(D3.id, D3.n, word_of_base=D3.word)" in error["hint"]
    found = view(
        project,
        d3 + "class V(Base, name='v', base=D3.select(D3.id, D3.n, word_of_base=D3.word), iterator=words(D3.word)):\n"
        "    loud = upper(word_of_base)\n",
    )
    assert [column["name"] for column in found["columns"]] == ["word_of_base", "loud"]


def test_an_argument_that_an_unstored_output_needs_is_not_hidden(project):
    error = project.error(
        TOP + "class Pair(R):\n    size: int\n"
        "@db.iterator(unstored_cols=['word'])\n"
        "def pairs(text: str) -> Iterator[Pair]:\n    yield {'word': text, 'size': 1}\n"
        "class D2(Base, name='d2'):\n    word: db.String\n    size: db.String\n"
        "class V(Base, name='v', base=D2, iterator=pairs(D2.size)):\n    pass\n"
    )
    assert "reads 'size' of D2, whose name an output has; 'word', which is not stored, needs it" in error["detail"]
    assert error["hint"] == (
        'Declare a view that gives it another name: class Renamed(Base, name="renamed", '
        "base=D2.select(D2.word, other=D2.size)): pass; then write base=Renamed and iterator=pairs(Renamed.other)"
    )
    found = project.manifest(
        TOP + "class Pair(R):\n    size: int\n"
        "@db.iterator(unstored_cols=['word'])\n"
        "def pairs(text: str) -> Iterator[Pair]:\n    yield {'word': text, 'size': 1}\n"
        "class D2(Base, name='d2'):\n    word: db.String\n    size: db.String\n"
        'class Renamed(Base, name="renamed", base=D2.select(D2.word, other=D2.size)): pass\n'
        "class V(Base, name='v', base=Renamed, iterator=pairs(Renamed.other)):\n    pass\n"
    )
    assert found["tables"][-1]["view"]["base"] == "renamed"


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
