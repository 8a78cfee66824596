"""Columns with stored=False: what reads them, and where they are refused."""

import pytest
from test_manifest_errors import check

MODEL = """
from PIL import Image

@db.udf
def light(picture: Image.Image) -> int:
    return 1

class A(Base, name='a'):
    id = db.Column(value=uuid7(), primary_key=True)
    n: db.Int
    picture: db.Image
    double = db.Column(value=n * 2, stored=False, comment="twice")
    small = db.Column(value=picture.thumbnail((8, 8)), stored=False)
    bright = light(small)
    more = double + 1

r = Router()
"""


def selected(project, query, source=""):
    written = f"@db.query\ndef q({source}):\n    return {query}\n"
    return project.manifest(MODEL + written)["queries"][0]["query"]


def test_an_unstored_column_is_no_column_of_its_table(project):
    table = project.manifest(MODEL)["tables"][0]
    assert [column["name"] for column in table["columns"]] == ["id", "n", "picture", "bright", "more"]
    double, small = table["unstored"]
    assert (double["name"], double["comment"], double["computed"]["text"]) == ("double", "twice", "n * 2")
    assert small["type"] == {"kind": "image"}


def test_its_expression_stands_where_it_is_read(project):
    columns = {column["name"]: column for column in project.manifest(MODEL)["tables"][0]["columns"]}
    assert columns["more"]["computed"]["text"] == "n * 2 + 1"
    assert columns["bright"]["computed"]["text"] == "light(image.thumbnail(picture, [8, 8]))"
    query = selected(project, "A.where(A.double > 4).order_by(A.double).select(A.double, A.small, high=A.small.height)")
    assert [value["name"] for value in query["select"]] == ["double", "small", "high"]
    assert query["where"]["args"][0]["args"][0] == {"node": "column", "name": "n", "of": "a", "type": {"kind": "int"}, "nullable": False}
    assert query["order_by"][0]["expr"] == query["select"][0]["expr"] == query["where"]["args"][0]


def test_a_query_or_route_without_names_leaves_it_out(project):
    assert [value["name"] for value in selected(project, "A.limit(1)")["select"]] == ["id", "n", "picture", "bright", "more"]
    routes = project.manifest(MODEL + "r.add_insert_route(A, path='/a')\n")["services"][0]["routes"]
    assert (routes[0]["inputs"], routes[0]["outputs"]) == (["n", "picture"], ["id", "n", "picture", "bright", "more"])


def test_each_model_of_a_join_reads_its_own(project):
    other = "class B(Base, name='b'):\n    n: db.Int\n    double = db.Column(value=n * 3, stored=False)\n"
    written = "@db.query\ndef q():\n    return A.join(B, on=A.double == B.double).select(A.double, other=B.double)\n"
    query = project.manifest(MODEL + other + written)["queries"][0]["query"]
    owners = [value["expr"]["args"][0]["of"] for value in query["select"]]
    assert owners == ["a", "b"]


REFUSED = {
    "a given column": ("x = db.Column(type=db.Int, stored=False)", ["stored=False is for computed columns"]),
    "a key": ("x = db.Column(value=uuid7(), stored=False, primary_key=True)", ["primary_key=: a key is stored"]),
    "a destination": (
        "p: db.Image\n    x = db.Column(value=p.thumbnail((8, 8)), stored=False, destination='s3://b/t')",
        ["destination=: its files are not kept"],
    ),
    "a previous name": ("n: db.Int\n    x = db.Column(value=n, stored=False, renamed_from='y')", ["renamed_from="]),
    "an index": (
        "n: db.Int\n    x = db.Column(value=n + 1, stored=False)\n    __indexes__ = [db.BtreeIndex(x)]",
        ["'x' is not stored and cannot be indexed"],
    ),
    "its error": (
        "n: db.Int\n    x = db.Column(value=10 / n, stored=False)\n    y = x.errortype",
        ["errortype", "stored computed"],
    ),
    "a validation": (
        "p: db.Image\n    x = db.Column(value=p.thumbnail((8, 8)), stored=False, media_validation='on_read')",
        ["media_validation= but is computed"],
    ),
    "a likeness": (
        "n: db.String\n    x = db.Column(value=upper(n), stored=False)\n    y = x.similarity(string='a')",
        ["not stored and has no embedding index"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(project, name):
    body, words = REFUSED[name]
    check(project.error(MODEL + f"class B(Base, name='b'):\n    {body}\n"), "", *words)


def test_routes_return_it_where_they_name_it(project):
    lines = (
        "r.add_insert_route(A, path='/a', outputs=['double', A.small])\n"
        "r.add_compute_route(A, path='/b', inputs=['n'], outputs=['double'])\n"
        "@r.update_route(A, path='/c')\ndef f(*, double): return double\n"
        "r.add_update_route(A, path='/d', outputs=['small'], return_fileresponse=True)\n"
    )
    routes = project.manifest(MODEL + lines)["services"][0]["routes"]
    assert [route["outputs"] for route in routes] == [["double", "small"], ["double"], ["double"], ["small"]]


def test_a_route_that_returns_it_needs_what_it_reads(project):
    line = "r.add_compute_route(A, path='/b', inputs=[], outputs=['double'])"
    check(project.error(MODEL + line + "\n"), line, "lack 'n'")


def test_it_is_no_input(project):
    line = "r.add_insert_route(A, path='/a', inputs=['n', 'picture', 'double'])"
    check(project.error(MODEL + line + "\n"), line, "'double' is computed")
