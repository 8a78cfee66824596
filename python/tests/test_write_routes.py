"""Routes that change rows: their defaults, and refusals with file, line and what to write."""

import pytest
from test_manifest_errors import check

MODELS = """
from appdb import serving

class A(Base, name='a'):
    id = db.Column(value=uuid7(), primary_key=True)
    n: db.Int
    s: db.String
    opt: db.String | None
    up = upper(s)

class Pair(Base, name='pair'):
    x = db.Column(type=db.Int, primary_key=True)
    y: db.String
    k = db.Column(value=upper(y), primary_key=True)
    z: db.Int

class Free(Base, name='free'):
    n: db.Int

class Keys(Base, name='keys'):
    x = db.Column(type=db.Int, primary_key=True)

r = Router()
"""


def route(project, line):
    return project.manifest(MODELS + line + "\n")["services"][0]["routes"][0]


def test_an_update_takes_what_is_stored_and_not_of_the_key(project):
    made = route(project, "r.add_update_route(A, path='/a')")
    del made["source"]
    assert made == {
        "kind": "update",
        "method": "post",
        "path": "/a",
        "table": "a",
        "key": ["id"],
        "inputs": ["n", "s", "opt"],
        "outputs": ["id", "n", "s", "opt", "up"],
        "on_error": "abort",
        "handler": None,
    }
    pair = route(project, "r.add_update_route(Pair, path='/p', outputs=['z'], on_error='ignore')")
    assert (pair["key"], pair["inputs"], pair["outputs"]) == (["x", "k"], ["z"], ["z"])
    assert pair["on_error"] == "ignore"


def test_a_delete_finds_rows_by_their_key_unless_told(project):
    made = route(project, "r.add_delete_route(Pair, path='/p')")
    assert (made["kind"], made["method"], made["match_columns"]) == ("delete", "post", ["x", "k"])
    assert route(project, "r.add_delete_route(A, path='/a', match_columns=[A.up, 'opt'])")["match_columns"] == ["up", "opt"]


def test_a_route_may_answer_a_job_and_say_how_often_it_may_fail(project):
    imported = "from appdb.serving import Background\n"
    plain = route(project, "r.add_delete_route(A, path='/a', background=True)")
    assert plain["background"] == {"attempts": 1, "expires_s": 86_400}
    told = route(project, imported + "r.add_insert_route(A, path='/a', background=Background(attempts=3, expires=60))")
    assert told["background"] == {"attempts": 3, "expires_s": 60}
    decorated = "@r.compute_route(A, path='/a', background=True)\ndef f(*, up: str):\n    return up"
    assert route(project, decorated)["background"]["attempts"] == 1
    assert route(project, "r.add_update_route(A, path='/a', background=False)").get("background") is None


REFUSED = {
    "no attempts": (
        "r.add_delete_route(A, path='/a', background=serving.Background(attempts=0))",
        ["attempts=", "from 1 to 100"],
    ),
    "an unknown option of a background": (
        "r.add_delete_route(A, path='/a', background=serving.Background(expire=5))",
        ["'expire'", "'expires'"],
    ),
    "an update without a key": ("r.add_update_route(Free, path='/a')", ["Free has no primary key", "uuid7()"]),
    "an update with nothing to change": ("r.add_update_route(Keys, path='/a')", ["/a has no inputs"]),
    "an update with empty inputs": ("r.add_update_route(A, path='/a', inputs=[])", ["/a has no inputs"]),
    "the key as input": ("r.add_update_route(A, path='/a', inputs=[A.id, A.n])", ["'id'", "primary key", "Take 'id' out"]),
    "a computed input": ("r.add_update_route(A, path='/a', inputs=['up'])", ["'up' is computed"]),
    "an input that the key is computed from": ("r.add_update_route(Pair, path='/a', inputs=['y'])", ["computed from 'y'"]),
    "an unknown input": ("r.add_update_route(A, path='/a', inputs=['optt'])", ["'optt'", "Did you mean 'opt'?"]),
    "an unknown output": ("r.add_update_route(A, path='/a', outputs=['m'])", ["'m'", "Its columns are"]),
    "an input named twice": ("r.add_update_route(A, path='/a', inputs=['n', A.n])", ["'n' twice"]),
    "a column of another model": ("r.add_update_route(A, path='/a', inputs=[Free.n])", ["'n' of the model Free"]),
    "another word for on_error": ("r.add_update_route(A, path='/a', on_error='skip')", ["on_error=", "'skip'"]),
    "an unknown option": ("r.add_update_route(A, path='/a', input=[A.n])", ["'input'", "Did you mean 'inputs'?"]),
    "an upload": ("r.add_update_route(A, path='/a', uploadfile_inputs=[A.s])", ["uploadfile_inputs", "which is String"]),
    "a path with a parameter": ("r.add_update_route(A, path='/a/{id}')", ["'/a/{id}'", "parameter"]),
    "a path of the service": ("r.add_delete_route(A, path='/openapi.json')", ["/openapi.json"]),
    "a target that is not a model": ("r.add_update_route('a', path='/a')", ["add_update_route takes a model", "str"]),
    "the base of the models": ("r.add_delete_route(Base, path='/a')", ["the base of the models"]),
    "a path that is taken": (
        "r.add_update_route(A, path='/a'); r.add_delete_route(A, path='/a')", ["POST /a is declared twice", "line 31"]
    ),
    "a delete without key and columns": ("r.add_delete_route(Free, path='/a')", ["Free has no primary key", "match_columns=[Free.column]"]),
    "a delete with empty columns": ("r.add_delete_route(A, path='/a', match_columns=[])", ["match_columns=", "all rows"]),
    "an unknown match column": ("r.add_delete_route(A, path='/a', match_columns=['op'])", ["'op'", "Did you mean"]),
    "match columns that are one text": ("r.add_delete_route(A, path='/a', match_columns='n')", ["match_columns= is a list"]),
    "an expression to match": ("r.add_delete_route(A, path='/a', match_columns=[A.n + 1])", ["n + 1"]),
    "inputs of a delete": ("r.add_delete_route(A, path='/a', inputs=[A.n])", ["no option 'inputs'", "match_columns"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(project, name):
    line, words = REFUSED[name]
    check(project.error(MODELS + line + "\n"), line.split(";")[0], *words)
