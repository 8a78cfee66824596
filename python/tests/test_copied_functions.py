"""Functions of modules that a hosted database does not know: a query is sent again with copies of them."""

import base64
import importlib
import pickle
import sys

import pytest

import appdb as db
from appdb.client import leases
from conftest import environment  # noqa: F401
from test_client import server  # noqa: F401

MODULE = """import appdb as db

END = "!"


@db.udf
def shout(text: str) -> str:
    return text.upper() + END
"""
UNKNOWN = (409, {"code": "function_missing", "detail": "The query calls copied:shout.", "hint": "Update the tables."})
STORED = {"program": "p1", "lease_seconds": 600}


@pytest.fixture
def shout(server, tmp_path, monkeypatch):
    (tmp_path / "copied.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("copied").shout
    del sys.modules["copied"]


@pytest.fixture
def docs(server, monkeypatch):
    monkeypatch.setenv("SERVICE_API_URL", server.url)
    monkeypatch.setenv("SERVICE_API_KEY", "key")
    monkeypatch.setattr(leases.Lease, "_start", lambda lease: None)
    return db.get_table("cloud://acme:main/docs")


def test_a_query_is_sent_again_with_a_copy(server, docs, shout):
    server.answers = {"/query": UNKNOWN, "/programs": (200, STORED)}
    server.result({"x": "string"}, [["A!"]])
    query = docs.where(docs.title != "copied:shout").select(x=shout(docs.title))
    assert query.collect()["x"] == ["A!"]
    first, second = server.bodies("/query")
    (stored,) = server.bodies("/programs")
    (function,) = stored["functions"]
    assert first["query"]["select"][0]["expr"]["function"] == "copied:shout"
    assert second["query"]["select"][0]["expr"]["function"] == function["id"] == f"{function['module']}:shout"
    assert second["query"]["where"] == first["query"]["where"]
    content = base64.b64decode(stored["modules"][0]).partition(b"\n")[2]
    del sys.modules["copied"]
    try:
        name, copy = pickle.loads(content)
    finally:
        sys.modules["copied"] = importlib.import_module("copied")
    assert (name, copy("a")) == ("shout", "A!")


def test_the_next_query_is_sent_with_the_copy_at_once(server, docs, shout):
    server.answers = {"/query": UNKNOWN, "/programs": (200, STORED)}
    for _ in range(2):
        server.result({"x": "string"}, [["A!"]])
        docs.select(x=shout(docs.title)).collect()
    assert [body["query"]["select"][0]["expr"]["function"].startswith("appdb_program_") for body in server.bodies("/query")] == [
        False,
        True,
        True,
    ]


def test_a_program_that_may_not_store_functions_gets_the_first_error(server, docs, shout):
    refusal = (403, {"code": "forbidden", "detail": "The key lacks database.update.", "hint": "Ask."})
    server.answers = {"/query": UNKNOWN, "/programs": refusal}
    with pytest.raises(db.Error) as told:
        docs.select(x=shout(docs.title)).collect()
    assert (told.value.code, told.value.hint) == ("function_missing", "Update the tables.")


def test_a_local_query_is_sent_once(server, shout):
    local = db.get_table("main/docs")
    server.answers = {"/query": UNKNOWN}
    with pytest.raises(db.Error, match="copied:shout"):
        local.select(x=shout(local.title)).collect()
    assert len(server.bodies("/query")) == 1
