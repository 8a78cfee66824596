"""Iterators that `@db.iterator` refuses, at their line and with what to write."""

import textwrap

import pytest
from conftest import HEAD
from test_manifest_errors import check

TYPED = "from typing import Iterator, TypedDict, NotRequired\nclass R(TypedDict):\n    n: int\n"
REFUSED = {
    "no hint of the rows": ("@db.iterator\ndef f(x: int):\n    yield {}\n", ["does not say what its rows have"]),
    "no TypedDict": ("@db.iterator\ndef f(x: int) -> Iterator[dict]:\n    yield {}\n", ["hint dict", "not a TypedDict"]),
    "no iterator": ("@db.iterator\ndef f(x: int) -> R:\n    yield {}\n", ["not Iterator[...] of a TypedDict"]),
    "a parameter without a hint": ("@db.iterator\ndef f(x) -> Iterator[R]:\n    yield {}\n", ["'x' of f"]),
    "any number of arguments": ("@db.iterator\ndef f(*x: int) -> Iterator[R]:\n    yield {}\n", ["*args"]),
    "a batch": ("@db.iterator\ndef f(x: db.Batch[int]) -> Iterator[R]:\n    yield {}\n", ["'x'", "one row at a time"]),
    "async": ("@db.iterator\nasync def f(x: int) -> Iterator[R]:\n    yield {}\n", ["async", "def and yield"]),
    "a lambda": ("f = db.iterator(lambda x: x)\n", ["lambda"]),
    "a value": ("f = db.iterator(3)\n", ["int", "neither a function nor a class"]),
    "a closure": (
        "def g():\n    @db.iterator\n    def f(x: int) -> Iterator[R]:\n        yield {}\ng()\n",
        ["inside a function"],
    ),
    "a closure of a class": (
        "def g():\n    @db.iterator\n    class F:\n        def __next__(self) -> R: ...\ng()\n",
        ["The iterator F", "inside a function"],
    ),
    "marked twice": ("@db.iterator\n@db.iterator\ndef f(x: int) -> Iterator[R]:\n    yield {}\n", ["twice"]),
    "an unknown option": (
        "@db.iterator(unstored=['n'])\ndef f(x: int) -> Iterator[R]:\n    yield {}\n",
        ["no option 'unstored'", "'unstored_cols'"],
    ),
    "a time limit of zero": (
        "@db.iterator(timeout=0)\ndef f(x: int) -> Iterator[R]:\n    yield {}\n",
        ["@iterator has timeout=0", "at most 3600"],
    ),
    "unstored_cols that is text": (
        "@db.iterator(unstored_cols='n')\ndef f(x: int) -> Iterator[R]:\n    yield {}\n",
        ["a list of names"],
    ),
    "an unknown unstored column": (
        "@db.iterator(unstored_cols=['m'])\ndef f(x: int) -> Iterator[R]:\n    yield {}\n",
        ["no output 'm'", "unstored_cols=", "Its outputs are n."],
    ),
    "an output of no column type": (
        "class S(TypedDict):\n    x: set\n@db.iterator\ndef f(x: int) -> Iterator[S]:\n    yield {}\n",
        ["output 'x' of f", "set"],
    ),
    "an output called pos": (
        "class S(TypedDict):\n    pos: int\n@db.iterator\ndef f(x: int) -> Iterator[S]:\n    yield {}\n",
        ["output 'pos'", "another name"],
    ),
    "an output with a keyword's name": (
        "S = TypedDict('S', {'class': int})\n@db.iterator\ndef f(x: int) -> Iterator[S]:\n    yield {}\n",
        ["'class' is a keyword", "class_"],
    ),
    "an output in upper case": (
        "class S(TypedDict):\n    Text: str\n@db.iterator\ndef f(x: int) -> Iterator[S]:\n    yield {}\n",
        ["'Text'", "Call it 'text'"],
    ),
    "an output with an underscore": (
        "class S(TypedDict):\n    _n: str\n@db.iterator\ndef f(x: int) -> Iterator[S]:\n    yield {}\n",
        ["_n", "underscore"],
    ),
    "an output that may be missing": (
        "class S(TypedDict):\n    n: NotRequired[int]\n@db.iterator\ndef f(x: int) -> Iterator[S]:\n    yield {}\n",
        ["'n' of f may be missing", "| None"],
    ),
    "rows without outputs": (
        "class S(TypedDict):\n    pass\n@db.iterator\ndef f(x: int) -> Iterator[S]:\n    yield {}\n",
        ["has no outputs"],
    ),
    "a name that is not there": (
        "class S(TypedDict):\n    n: 'Nope'\n@db.iterator\ndef f(x: int) -> Iterator[S]:\n    yield {}\n",
        ["S, the rows of f", "'Nope'"],
    ),
    "a class without rows": ("@db.iterator\nclass F:\n    pass\n", ["no __next__ and no __iter__"]),
    "a class without a hint of its rows": (
        "@db.iterator\nclass F:\n    def __iter__(self): return self\n    def __next__(self): ...\n",
        ["__next__ does not say"],
    ),
    "a class with a parameter without a hint": (
        "@db.iterator\nclass F:\n    def __init__(self, x): ...\n    def __iter__(self) -> Iterator[R]: ...\n",
        ["'x' of __init__"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_iterator_cannot_be(project, name):
    source, words = REFUSED[name]
    project.write(app=textwrap.dedent(HEAD) + TYPED + source)
    error = project.error()
    check(error, error["written"], *words)
    assert error["source"]["file"] == "app.py" and error["source"]["line"] > HEAD.count("\n")
    assert error["written"].startswith(("@db", "def", "async", "class", "f =", "g()"))
