"""Routes with media columns: what they take as files, and what is refused."""

import pytest
from test_manifest_errors import check

MODELS = """
from appdb import serving

class A(Base, name='a'):
    id = db.Column(value=uuid7(), primary_key=True)
    n: db.Int
    picture: db.Image
    text: db.Document | None
    width = picture.width

@db.query
def alike(picture: db.Image, n: int = 3):
    return A.where(A.width >= picture.width).limit(n)

r = Router()
"""


def route(project, line):
    return project.manifest(MODELS + line + "\n")["services"][0]["routes"][0]


def test_an_update_takes_files(project):
    made = route(project, "r.add_update_route(A, path='/a')")
    assert (made["inputs"], "uploads" in made) == (["n", "picture", "text"], False)
    made = route(project, "r.add_update_route(A, path='/a', inputs=['n'], uploadfile_inputs=[A.picture, 'text'])")
    assert (made["inputs"], made["uploads"]) == (["n", "picture", "text"], ["picture", "text"])
    made = route(project, "r.add_update_route(A, path='/a', uploadfile_inputs=[A.text])")
    assert (made["inputs"], made["uploads"]) == (["n", "picture", "text"], ["text"])


def test_a_query_takes_files(project):
    made = route(project, "r.add_query_route(path='/q', query=alike)")
    assert (made["inputs"], "uploads" in made) == (["picture", "n"], False)
    made = route(project, "r.add_query_route(path='/q', query=alike, uploadfile_inputs=['picture'])")
    assert (made["inputs"], made["uploads"], made["method"]) == (["picture", "n"], ["picture"], "post")
    made = route(project, "r.add_query_route(path='/q', query=alike, inputs=[], uploadfile_inputs=['picture'])")
    assert made["inputs"] == ["picture"]


def test_files_are_taken_in_the_background(project):
    for line in (
        "r.add_insert_route(A, path='/a', uploadfile_inputs=['picture'], background=True)",
        "r.add_update_route(A, path='/a', uploadfile_inputs=['picture'], background=True)",
        "r.add_compute_route(A, path='/a', uploadfile_inputs=['picture'], background=True)",
        "r.add_query_route(path='/q', query=alike, uploadfile_inputs=['picture'], background=True)",
    ):
        made = route(project, line)
        assert (made["uploads"], made["background"]) == (["picture"], {"attempts": 1, "expires_s": 86400})


REFUSED = {
    "a file as the response of a job": (
        "r.add_insert_route(A, path='/a', outputs=['picture'], return_fileresponse=True, background=True)",
        ["the response is the job", "the job's result has the address"],
    ),
    "a file response without outputs": (
        "r.add_insert_route(A, path='/a', return_fileresponse=True)",
        ["exactly one output", "Write outputs=[A.picture]"],
    ),
    "a file response of a number": (
        "r.add_insert_route(A, path='/a', outputs=['n'], return_fileresponse=True)",
        ["exactly one output", "Write outputs=[A.picture]"],
    ),
    "a file response of a query of rows": (
        "r.add_query_route(path='/q', query=alike, return_fileresponse=True)",
        ["exactly one value", "Write select(A.picture) in the query."],
    ),
    "an upload that is no parameter": (
        "r.add_query_route(path='/q', query=alike, uploadfile_inputs=['pictur'])",
        ["'pictur'", "Did you mean 'picture'?"],
    ),
    "an upload that is no list": (
        "r.add_insert_route(A, path='/a', uploadfile_inputs=A.picture)",
        ["uploadfile_inputs= is a list of columns", "Write uploadfile_inputs=[A.picture]"],
    ),
    "an upload of a name that is no list": (
        "r.add_update_route(A, path='/a', uploadfile_inputs='picture')",
        ["Write uploadfile_inputs=[A.picture]"],
    ),
    "an upload of a query that is no list": (
        "r.add_query_route(path='/q', query=alike, uploadfile_inputs='picture')",
        ['Write uploadfile_inputs=["picture"]'],
    ),
    "an upload of a query that is a column and no list": (
        "r.add_query_route(path='/q', query=alike, uploadfile_inputs=A.picture)",
        ["is a list of parameter names", 'Write uploadfile_inputs=["name"]'],
    ),
    "an upload of a query that is a column": (
        "r.add_query_route(path='/q', query=alike, uploadfile_inputs=[A.picture])",
        ["contains picture, which is not the name of a parameter of alike", 'Name the parameter: uploadfile_inputs=["picture"]'],
    ),
    "an upload for a number": ("r.add_query_route(path='/q', query=alike, uploadfile_inputs=['n'])", ["which is Int"]),
    "an upload in the URL": (
        "r.add_query_route(path='/q', query=alike, uploadfile_inputs=['picture'], method='get')",
        ['method="get"', 'Write method="post"'],
    ),
    "a parameter in both": (
        "r.add_query_route(path='/q', query=alike, inputs=['picture'], uploadfile_inputs=['picture'])",
        ["both name 'picture'"],
    ),
    "an upload of a delete": ("r.add_delete_route(A, path='/a', uploadfile_inputs=['picture'])", ["no option"]),
    "an upload of another type": ("r.add_update_route(A, path='/a', uploadfile_inputs=['n'])", ["which is Int"]),
    "a computed upload": (
        "class B(Base, name='b'):\n    id = db.Column(type=db.Int, primary_key=True)\n"
        "    p: db.Image\n    t = p.thumbnail((8, 8))\nr.add_update_route(B, path='/b', inputs=[], uploadfile_inputs=['t'])",
        ["names 't', which is computed"],
    ),
    "a computed upload of all inputs": (
        "class B(Base, name='b'):\n    p: db.Image\n    t = p.thumbnail((8, 8))\n"
        "r.add_insert_route(B, path='/b', uploadfile_inputs=['t'])",
        ["names 't', which is computed"],
    ),
    "a column in both": (
        "r.add_update_route(A, path='/a', inputs=['picture'], uploadfile_inputs=['picture'])",
        ["both name 'picture'"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(project, name):
    line, words = REFUSED[name]
    check(project.error(MODELS + line + "\n"), line.split("\n")[-1], *words)
