"""The decorator forms of routes: their manifest, and refusals with file and line."""

import pytest
from test_manifest_errors import check

MODELS = """
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypedDict

class A(Base, name='a'):
    id = db.Column(value=uuid7(), primary_key=True)
    n: db.Int
    s: db.String
    opt: db.String | None
    vec: db.Array[db.Float] | None
    up = upper(s)

r = Router()

"""


def route(project, written):
    return project.manifest(MODELS + written + "\n")["services"][0]["routes"][0]


def test_the_outputs_are_what_the_function_takes(project):
    made = route(project, "@r.insert_route(A, path='/a')\ndef f(*, up: str, n: float, more=1) -> dict[str, int]:\n    return {}")
    assert (made["kind"], made["inputs"], made["outputs"]) == ("insert", ["n", "s", "opt", "vec"], ["up", "n"])
    schema = made["handler"].pop("response")
    assert made["handler"] == {"id": "app:f", "module": "app", "name": "f", "parameters": ["up", "n"]}
    assert (schema["type"], schema["additionalProperties"]["type"]) == ("object", "integer")


def test_all_three_kinds_take_a_function_and_the_plain_ones_have_none(project):
    written = """
@r.update_route(A, path='/u', inputs=[A.n], on_error='ignore')
async def u(*, n: int, up: str | None): ...

@r.compute_route(A, path='/c', inputs=[A.s], outputs=[A.up])
def c(*, up: Any) -> None: ...

r.add_insert_route(A, path='/i')
"""
    routes = project.manifest(MODELS + written)["services"][0]["routes"]
    assert [(one["kind"], one["handler"] and one["handler"]["id"]) for one in routes] == [
        ("update", "app:u"),
        ("compute", "app:c"),
        ("insert", None),
    ]
    assert [one["handler"] and one["handler"]["response"] for one in routes] == [None, {"type": "null"}, None]


def test_the_function_itself_is_left_alone(project):
    written = "def f(*, s): return s\ng = r.insert_route(A, path='/a')(f)\nassert g is f and g(s='x') == 'x'"
    assert route(project, written)["handler"]["id"] == "app:f"


def test_one_function_may_answer_several_routes(project):
    written = "@r.insert_route(A, path='/a')\n@r.compute_route(A, path='/b', inputs=[A.s])\ndef f(*, up): return up"
    routes = project.manifest(MODELS + written)["services"][0]["routes"]
    assert [one["handler"]["id"] for one in routes] == ["app:f", "app:f"]


def test_what_it_returns_is_described(project):
    written = """
@dataclass
class Card:
    title: str
    at: datetime | None = None

@r.insert_route(A, path='/a')
def f(*, s) -> list[Card]: return []
"""
    schema = route(project, written)["handler"]["response"]
    assert schema["type"] == "array"
    assert schema["items"]["required"] == ["title"]
    assert set(schema["items"]["properties"]) == {"title", "at"}


REFUSED = {
    "a parameter that is not keyword-only": ("def f(s, *, up): ...", "@r.insert_route", ["'s' of f is not keyword-only", "def f(*, s, up):"]),
    "a parameter that is not an output": ("def f(*, upp): ...", "@r.insert_route", ["'upp'", "not an output", "Did you mean 'up'?"]),
    "*args": ("def f(*args, s): ...", "@r.insert_route", ["*args or **kwargs"]),
    "**kwargs": ("def f(*, s, **more): ...", "@r.insert_route", ["*args or **kwargs"]),
    "a parameter of another type": ("def f(*, s: int): ...", "@r.insert_route", ["'s' of f is Int; the column is String"]),
    "a parameter of a type that is none": ("def f(*, s: object()): ...", "@r.insert_route", ["'s' of f"]),
    "a parameter that cannot be None": ("def f(*, opt: str): ...", "@r.insert_route", ["'opt' of f cannot be None", "| None"]),
    "a hint that the module does not have": ("def f(*, s: Nope): ...", "def f", ["'Nope'"]),
    "a result that is not valid JSON": ("def f(*, s) -> type(r): ...", "@r.insert_route", ["f returns Router, which is not valid JSON"]),
    "a function that yields": ("def f(*, s):\n    yield s", "@r.insert_route", ["f yields"]),
    "a lambda": ("f = None", "insert_route(A", ["lambda"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(project, name):
    written, line, words = REFUSED[name]
    source = "@r.insert_route(A, path='/a')\n" + written
    if name == "a lambda":
        source = "r.insert_route(A, path='/a')(lambda *, s: s)"
    check(project.error(MODELS + source + "\n"), line, *words)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("@r.insert_route(A, path='/a', outputs=[A.s, A.up])\ndef f(*, s): ...", ["does not take 'up'", "def f(*, s, up):"]),
        ("@r.insert_route(A, path='/a', on_error='ignore')\ndef f(*, up: str): ...", ["'up' of f cannot be None"]),
        ("@r.insert_route(A, path='/a', outputs=['sss'])\ndef f(*, s): ...", ["outputs= names 'sss'"]),
        ("@r.insert_route(A, path='a')\ndef f(*, s): ...", ["does not begin with '/'"]),
        ("@r.insert_route(A, path='/a', inputs=[A.n])\ndef f(*, s): ...", ["lack 's'"]),
        ("@r.update_route(A, path='/a', inputs=[A.id])\ndef f(*, s): ...", ["'id'", "primary key"]),
        ("@r.compute_route(A, path='/a', inputs=[A.n])\ndef f(*, up): ...", ["lack 's'", "computed from"]),
        ("@r.insert_route(A, path='/a', wrong=1)\ndef f(*, s): ...", ["no option 'wrong'"]),
        ("r.insert_route(A, path='/a')(5)", ["int", "not a function"]),
        ("class C:\n    @r.insert_route(A, path='/a')\n    def f(*, s): ...", ["C.f is a method"]),
        (
            "@r.insert_route(A, path='/a')\ndef f(*, s): ...\n@r.insert_route(A, path='/b')\ndef f(*, up): ...",
            ["have a function called f", "own name"],
        ),
    ],
)
def test_also_refused(project, written, words):
    error = project.error(MODELS + written + "\n")
    check(error, "", *words)
    assert error["source"]["line"] > 20
