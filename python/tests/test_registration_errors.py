"""Every reason to refuse a route when its file is imported, by kind: the error, and what to write.

Views, media columns and files in requests are refused by name; Array and Binary columns can be outputs, and an
export can merge.
"""

import pytest
from test_manifest_errors import check

MODELS = """
from appdb import serving
from appdb.serving import SqlExport

class A(Base, name='a'):
    id = db.Column(value=uuid7(), primary_key=True)
    n: db.Int
    s: db.String
    opt: db.String | None
    up = upper(s)

class Free(Base, name='free'):
    n: db.Int
    v: db.Array[(3,), db.Float] | None
    b: db.Binary | None

@db.query
def q(n: int, m: int = 3):
    return A.where(A.n == n).select(A.n)

r = Router()
"""

TO = "SqlExport(db_connect='env:OTHER', table='t', method='{}')"
LATER = "not supported yet"

REFUSED = {
    "unknown": [
        ("r.add_insert_route(A, path='/a', inputs=['n', 'ss'])", ["inputs= names 'ss'", "Did you mean 's'?"]),
        ("r.add_compute_route(A, path='/a', inputs=['ss'])", ["inputs= names 'ss'", "Did you mean 's'?"]),
        ("r.add_update_route(A, path='/a', inputs=['ss'])", ["inputs= names 'ss'", "Did you mean 's'?"]),
        ("r.add_insert_route(A, path='/a', outputs=['x'])", ["outputs= names 'x'", "Its columns are 'id', 'n'"]),
        ("r.add_compute_route(A, path='/a', outputs=['x'])", ["outputs= names 'x'", "Its columns are 'id', 'n'"]),
        ("r.add_update_route(A, path='/a', outputs=['x'])", ["outputs= names 'x'", "Its columns are 'id', 'n'"]),
        ("r.add_delete_route(A, path='/a', match_columns=['op'])", ["match_columns= names 'op'", "Did you mean 'opt'?"]),
        ("r.add_query_route(path='/q', query=q, inputs=['n', 'k'])", ["not a parameter of q", "Its parameters are 'n', 'm'"]),
    ],
    "an input that is none": [
        ("r.add_insert_route(A, path='/a', inputs=['n', 's', 'up'])", ["'up' is computed", "Take 'up' out of inputs"]),
        ("r.add_compute_route(A, path='/a', inputs=['n', 's', 'up'])", ["'up' is computed", "Take 'up' out of inputs"]),
        ("r.add_update_route(A, path='/a', inputs=['up'])", ["'up' is computed", "Take 'up' out of inputs"]),
        ("r.add_update_route(A, path='/a', inputs=['id'])", ["'id' is of the primary key", "Take 'id' out of inputs"]),
    ],
    "files in requests": [
        ("r.add_insert_route(A, path='/a', inputs=['n', 's'], uploadfile_inputs=['n'])", ["uploadfile_inputs=", "which is Int"]),
        ("r.add_query_route(path='/q', query=q, method='get', uploadfile_inputs=['n'])", ["uploadfile_inputs=", "which is Int"]),
        ("r.add_insert_route(A, path='/a', return_fileresponse=True)", ["exactly one output", "A has no media column"]),
        ("r.add_compute_route(A, path='/a', return_fileresponse=True, background=True)", ["return_fileresponse=", "one output"]),
        ("r.add_query_route(path='/q', query=q, return_fileresponse=True)", ["exactly one value", "q reads no media column"]),
        ("@r.insert_route(A, path='/a', return_fileresponse=True)\ndef f(*, up): return up", ["return_fileresponse="]),
    ],
    "missing": [
        ("r.add_insert_route(A, path='/a', inputs=['n'])", ["lack 's', which every row has", "Add 's' to inputs"]),
        ("r.add_compute_route(A, path='/a', inputs=['n'], outputs=['up'])", ["'s'", "computed from", "inputs"]),
        ("r.add_query_route(path='/q', query=q, inputs=['m'])", ["lack 'n', which q needs", "default"]),
        ("r.add_delete_route(A, path='/a', match_columns=[])", ["would delete all rows", "at least one column"]),
        ("r.add_update_route(Free, path='/a')", ["Free has no primary key", "uuid7()"]),
        ("r.add_delete_route(Free, path='/a')", ["Free has no primary key", "match_columns=[Free.column]"]),
    ],
    "later": [
        ("x = db.ConfigVar", ["appdb.ConfigVar", LATER]),
    ],
    "functions that answer": [
        ("@r.insert_route(A, path='/a')\ndef f(up): return up", ["'up' of f is not keyword-only", "Write def f(*, up):"]),
        ("@r.update_route(A, path='/a')\ndef f(*, up: int): return up", ["'up' of f is Int; the column is String"]),
        ("@r.compute_route(A, path='/a')\ndef f(*, x): return x", ["'x'", "not an output"]),
        ("@r.compute_route(A, path='/a')\ndef f(*, up) -> type(r): return r", ["f returns Router, which is not valid JSON"]),
    ],
    "exports": [
        (f"r.add_insert_route(A, path='/a', export_sql={TO.format('upsert')})", ["method='upsert'", '"merge"']),
        (f"r.add_compute_route(A, path='/a', export_sql={TO.format('merge')})", ["a compute route stores no row"]),
    ],
    "paths": [
        ("r.add_insert_route(A, path='/q'); r.add_query_route(path='/q', query=q)", ["POST /q is declared twice; the first time"]),
        ("r.add_insert_route(A, path='/_jobs/x')", ["The path /_jobs/x is reserved for the service itself"]),
        ("p = Router(name='p', prefix='/_x'); p.add_insert_route(A, path='/y')", ["The path /_x/y is reserved for the service"]),
        ("r.add_insert_route(A, path='/health')", ["The path /health is reserved for the service itself"]),
        ("r.add_query_route(path='/openapi.json', query=q, method='get')", ["/openapi.json is reserved for the service"]),
        ("r.add_update_route(A, path='/a/{n}')", ["'/a/{n}' has a parameter", "Send the value in the body"]),
        ("r.add_query_route(path='/q/{zz}', query=q, method='get')", ["names 'zz'", "is not an input of q"]),
        ("r.add_delete_route(A, path='a')", ["'a' does not begin with '/'", "Write '/a'"]),
        ("r.add_query_route(path='/q', query=q, method='put')", ["method='put'", 'method="get"']),
    ],
}


@pytest.mark.parametrize(("line", "words"), [case for cases in REFUSED.values() for case in cases])
def test_a_route_that_cannot_work_is_refused_with_its_line_and_what_to_write(project, line, words):
    check(project.error(MODELS + line + "\n"), line.split("\n")[0].split(";")[0], *words)


@pytest.mark.parametrize(
    "line",
    [
        "r.add_insert_route(Free, path='/f', outputs=['v', 'b'])",
        f"r.add_insert_route(A, path='/a', export_sql={TO.format('merge')})",
        "r.add_query_route(path='/q', query=q); r.add_query_route(path='/q', query=q, method='get')",
    ],
)
def test_what_can_work_is_taken(project, line):
    assert project.manifest(MODELS + line + "\n")["services"][0]["routes"]
