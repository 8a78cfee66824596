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


REFUSED = {
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
