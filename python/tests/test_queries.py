"""Queries: the records of the verbs, and their refusals."""

import pytest

MODEL = """
class Docs(Base, name="docs"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    n: db.Int | None
    doc: db.Json | None

class Tags(Base, name="tags"):
    name = db.Column(db.String, primary_key=True)
    limit: db.Int
    count: db.Int

@db.udf
def shout(x: str) -> str:
    return x + "!"
"""


def query(project, body, parameters="", options=""):
    document = project.manifest(f"{MODEL}\n@db.query{options}\ndef q({parameters}):\n    return {body}\n")
    (found,) = document["queries"]
    return found


def names(project, body, parameters=""):
    return [value["name"] for value in query(project, body, parameters)["query"]["select"]]


def test_the_error_of_a_cell_has_a_name_of_its_own(project):
    source = "class Loud(Base, name='loud'):\n    title: db.String\n    shouted = shout(title)\n"
    document = project.manifest(
        f"{MODEL}{source}\n@db.query\ndef q():\n    return Loud.select(Loud.shouted, Loud.shouted.errortype, Loud.shouted.errormsg)\n"
    )
    selected = document["queries"][0]["query"]["select"]
    assert [value["name"] for value in selected] == ["shouted", "shouted_errortype", "shouted_errormsg"]


def test_a_query_is_recorded_with_its_parameters(project):
    found = query(project, "Docs.where(Docs.n == n).limit(lim)", "n: int, lim: int = 10, tag: str | None = None")
    assert (found["id"], found["name"], found["return_scalar"]) == ("app:q", "q", False)
    assert [(p["name"], p["type"]["kind"], p["nullable"], p.get("default", "-")) for p in found["parameters"]] == [
        ("n", "int", False, "-"),
        ("lim", "int", False, "10"),
        ("tag", "string", True, None),
    ]
    where = found["query"]["where"]
    assert where["fn"] == "op.eq"
    assert where["args"][0]["of"] == "docs"
    assert where["args"][1]["node"] == "parameter"
    assert found["query"]["limit"] == {**found["query"]["limit"], "node": "parameter", "name": "lim"}


def test_without_select_all_columns_are_chosen(project):
    assert names(project, "Docs.limit(1)") == ["id", "title", "n", "doc"]
    assert names(project, "Docs") == ["id", "title", "n", "doc"]


def test_values_without_alias_are_named_as_people_expect(project):
    chosen = "Docs.select(Docs.id, Docs.n + 1, Docs.doc.a.b, Docs.doc.l[0], upper(Docs.title), shout(Docs.title), up=Docs.n)"
    assert names(project, chosen) == ["id", "col_1", "doc_a_b", "doc_l0", "upper", "shout", "up"]
    assert names(project, "Docs.select(Docs.id, Docs.id, 5, 'x')") == ["id", "id_1", "literal", "literal_1"]
    assert names(project, "Docs.join(Tags, on=Docs.title == Tags.name).select(Docs.title, Tags.name, fn.upper(Tags.name))") == [
        "title",
        "name",
        "upper",
    ]


def test_the_order_of_the_calls_means_nothing(project):
    one = query(project, "Docs.where(Docs.n > 1).order_by(Docs.n).limit(3).select(Docs.title)")
    two = query(project, "Docs.select(Docs.title).limit(3).order_by(Docs.n).where(Docs.n > 1)")
    assert one["query"] == two["query"]


def test_the_first_order_is_the_major_one(project):
    order = query(project, "Docs.order_by(Docs.n, asc=False).order_by(Docs.title)")["query"]["order_by"]
    assert [(key["expr"]["name"], key["asc"]) for key in order] == [("n", False), ("title", True)]


def test_two_wheres_must_both_hold(project):
    where = query(project, "Docs.where(Docs.n > 1).where(Docs.n < 5)")["query"]["where"]
    assert where["fn"] == "op.and"


def test_a_column_wins_over_a_verb_of_its_name(project):
    found = query(project, "Tags.where(Tags.limit > 1).select(Tags.limit, Tags.count)")
    assert [value["expr"]["name"] for value in found["query"]["select"]] == ["limit", "count"]


def test_groups_take_aggregates(project):
    found = query(project, "Docs.group_by(Docs.n).select(Docs.n, fn.count(), total=fn.sum(Docs.n) / fn.count(Docs.id))")
    assert [value["name"] for value in found["query"]["select"]] == ["n", "count", "total"]
    assert found["query"]["group_by"][0]["name"] == "n"
    assert query(project, "Docs.where(Docs.n > 1).count()")["query"]["select"][0]["expr"]["fn"] == "count"


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "full_outer"])
def test_models_are_joined(project, how):
    found = query(project, f"Docs.join(Tags, on=Docs.title == Tags.name, how='{how}').select(Docs.title, Tags.limit)")
    (join,) = found["query"]["joins"]
    assert (join["kind"], join["table"]) == (how.partition("_")[0], "tags")
    assert [arg["of"] for arg in join["on"]["args"]] == ["docs", "tags"]


def test_a_scalar_query_has_one_value(project):
    assert query(project, "Docs.select(Docs.n)", options="(return_scalar=True)")["return_scalar"] is True
    error = project.error(f"{MODEL}\n@db.query(return_scalar=True)\ndef q():\n    return Docs\n")
    assert "selects 4 values" in error["detail"]


def test_functions_of_a_query_are_declared(project):
    document = project.manifest(f"{MODEL}\n@db.query\ndef q():\n    return Docs.where(shout(Docs.title) == 'a!')\n")
    assert [found["id"] for found in document["functions"]] == ["app:shout"]


def test_a_query_of_a_route_in_another_module_is_found(project):
    project.write(
        models="import appdb as db\nBase = db.model_base()\nclass Docs(Base, name='docs'):\n    title: db.String\n",
        queries="import appdb as db\nfrom models import Docs\n@db.query\ndef every():\n    return Docs\n",
    )
    document = project.manifest(
        "from queries import every\nr = Router(name='r')\nr.add_query_route(path='/every', query=every, method='get')\n",
    )
    assert [found["id"] for found in document["queries"]] == ["queries:every"]
    assert [table["name"] for table in document["tables"]] == ["docs"]
    assert document["services"][0]["routes"][0] == {
        "kind": "query",
        "method": "get",
        "path": "/every",
        "query": "queries:every",
        "inputs": [],
        "one_row": False,
        "source": document["services"][0]["routes"][0]["source"],
    }


def test_one_path_may_have_a_query_under_post_and_under_get(project):
    document = project.manifest(
        MODEL
        + "@db.query\ndef q(n: int = 1):\n    return Docs\nr = Router(name='r')\n"
        + "r.add_query_route(path='/q', query=q)\nr.add_query_route(path='/q', query=q, method='get', one_row=True)\n"
    )
    routes = document["services"][0]["routes"]
    assert [(route["method"], route["one_row"]) for route in routes] == [("post", False), ("get", True)]


def test_a_query_may_be_a_column(project):
    found = project.columns(
        MODEL + "@db.query\ndef q(n: int):\n    return Docs.where(Docs.n == n)\n\n"
        "class Wide(Base, name='a'):\n    n: db.Int\n    m: db.Int | None\n    rows = q(n)\n    more = q(n=m)\n"
    )
    assert found["rows"]["type"]["kind"] == "json" and found["rows"]["nullable"] is False
    assert found["rows"]["computed"]["text"] == "q(n)"
    assert found["rows"]["computed"]["expr"]["query"] == "app:q"
    assert found["more"]["nullable"] is True


@pytest.mark.parametrize(
    "body, words",
    [
        ("Docs.where(Docs.n)", ["where() takes a condition", "Int"]),
        ("Docs.where(fn.count(Docs.id) > 1)", ["aggregate"]),
        ("Docs.where(Tags.name == 'a')", ["'name' of Tags", "Join it"]),
        ("Docs.select(Docs.id).select(Docs.n)", ["select() is called twice"]),
        ("Docs.select(Docs.n, n=Docs.id)", ["'n' twice"]),
        ("Docs.group_by(Docs.n).select(Docs.title)", ["'title'", "group_by"]),
        ("Docs.select(Docs.title, fn.count())", ["'title'"]),
        ("Docs.group_by(Docs.n)", ["selects nothing"]),
        ("Docs.select(fn.sum(fn.count(Docs.id)))", ["aggregate of an aggregate"]),
        ("Docs.select(Docs.n).distinct().order_by(Docs.title)", ["distinct()", "not selected"]),
        ("Docs.select(Docs.doc).distinct()", ["Json"]),
        ("Docs.order_by(Docs.doc)", ["Json"]),
        ("Docs.order_by('n')", ["not the text", "Docs.n"]),
        ("Docs.limit('a')", ["whole number"]),
        ("Docs.limit(-1)", ["negative"]),
        ("Docs.limit(Docs.n)", ["whole number or a parameter"]),
        ("Docs.limit(1).tail(2)", ["tail() and limit()"]),
        ("Docs.join(Docs, on=Docs.n == Docs.n)", ["joined to itself"]),
        ("Docs.join(Tags, how='left')", ["no on="]),
        ("Docs.join(Tags, on=Docs.title == Tags.name, how='lft')", ["'lft'", "'left'"]),
        ("Docs.sample()", ["n= or fraction="]),
        ("Docs.sample(fraction=2)", ["from 0 to 1"]),
        ("Docs.collect()", ["collect"]),
        ("Docs.where(Docs.n > 1).selct(Docs.n)", ["'selct'", "'select'"]),
        ("Docs.where(Docs.n > 1).collect()", ["no database is available"]),
        ("None", ["returns nothing"]),
        ("5", ["returns int"]),
    ],
)
def test_a_query_is_refused(project, body, words):
    error = project.error(f"{MODEL}\n@db.query\ndef q():\n    return {body}\n")
    assert error["code"] == "app_invalid"
    for word in words:
        assert word in error["detail"] + error["hint"], error


@pytest.mark.parametrize(
    "parameters, words",
    [
        ("n", ["'n'", "no type hint"]),
        ("*n: int", ["*args"]),
        ("n: object", ["object"]),
        ("n: int = 'a'", ["default", "'n'"]),
    ],
)
def test_parameters_of_a_query_are_typed(project, parameters, words):
    error = project.error(f"{MODEL}\n@db.query\ndef q({parameters}):\n    return Docs\n")
    for word in words:
        assert word in error["detail"] + error["hint"], error


@pytest.mark.parametrize(
    "call, words",
    [
        ("path='/q'", ["names no query"]),
        ("path='/q', query=shout", ["shout", "@db.query"]),
        ("path='/q', query=q, inputs=['m']", ["'m'", "not a parameter"]),
        ("path='/q', query=q, inputs=[]", ["lack 'n'"]),
        ("path='/q', query=q, method='put'", ["'put'"]),
        ("path='q', query=q", ["'/q'"]),
        ("path='/q', query=q, one_row=1", ["one_row"]),
        ("path='/q', query=q, background='yes'", ["background", "'yes'"]),
        ("path='/q', query=q, outputs=[]", ["no option 'outputs'"]),
    ],
)
def test_a_query_route_is_refused(project, call, words):
    source = f"{MODEL}\n@db.query\ndef q(n: int):\n    return Docs\nr = Router(name='r')\nr.add_query_route({call})\n"
    error = project.error(source)
    for word in words:
        assert word in error["detail"] + error["hint"], error
