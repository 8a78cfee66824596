"""Wrong arguments of public functions: the library says which, and what the function takes."""

import json

import pytest

import appdb as db
import appdb.io
from appdb.client import api
from appdb.client.reading import BoundQuery
from appdb.client.results import Cursor, ResultSet
from appdb.client.tables import Table
from appdb.declare.arguments import checked
from fake_database import FakeDatabase

#: Methods that take any keyword as the name of a column.
TAKE_NAMES = {"select", "where", "insert", "compute", "add_column", "add_computed_column", "add_embedding_index", "sample", "update"}


@pytest.fixture
def docs(tmp_path, monkeypatch):
    server = FakeDatabase()
    (tmp_path / "daemon.json").write_text(json.dumps({"port": server.server_address[1]}))
    (tmp_path / "daemon.token").write_text("secret\n")
    monkeypatch.setenv("SERVICE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield db.get_table("main/docs")
    server.shutdown()
    server.server_close()


def functions_of(cls):
    return [getattr(cls, name) for name, member in vars(cls).items() if not name.startswith("_") and callable(member)]


def of_module(module):
    return [one for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__ and not name.startswith("_")]


METHODS = [one for cls in (Table, BoundQuery, ResultSet, Cursor) for one in functions_of(cls)]
FUNCTIONS = [*of_module(api), *of_module(appdb.io), db.model_base, db.query, db.uda, db.expr_udf]
PASSED_ON = ("BoundQuery.recompute_columns",)
CASES = [one for one in (*METHODS, *FUNCTIONS) if one.__name__ not in TAKE_NAMES and one.__qualname__ not in PASSED_ON]


@pytest.mark.parametrize("function", CASES, ids=lambda one: one.__qualname__)
def test_an_unknown_keyword_of_any_function_is_named(docs, function):
    given = (docs, *["x"] * 3)
    needed = [None] * (function.__wrapped__.__code__.co_argcount - len(function.__wrapped__.__defaults__ or ()))
    with pytest.raises(db.Error) as caught:
        function(*given[: len(needed)], nonsense=1)
    assert "has no argument 'nonsense'" in caught.value.detail or "has no option nonsense" in caught.value.detail
    assert caught.value.hint


@pytest.mark.parametrize(
    ("call", "detail", "hint"),
    [
        (lambda docs: docs.count(timout=3), "count() has no argument 'timout'.", "Did you mean 'timeout'?"),
        (lambda docs: docs.head(1, 2), "head() is given too many arguments.", "It takes: n."),
        (lambda docs: docs.rename_column("n"), "rename_column() lacks 1 required positional argument: 'new_name'.", "new_name"),
        (lambda docs: docs.batch_update([], if_not_exist="insert"), "batch_update() has no argument 'if_not_exist'.", "'if_not_exists'"),
        (lambda docs: docs.update({}, onerror="ignore"), "update() has no argument 'onerror'.", "Did you mean 'on_error'?"),
        (lambda docs: docs.where(title="a"), "where() takes a condition, not title=.", "where(docs.title == ...)"),
        (lambda docs: docs.order_by(docs.n, desc=True), "order_by() has no option desc=.", "asc=False"),
        (lambda docs: docs.insert([], onerror="ignore"), "insert() is given rows and onerror=.", "'on_error'"),
        (lambda docs: docs.add_column(x=db.Int, if_exist="ignore"), "add_column() has no argument 'if_exist'.", "'if_exists'"),
        (lambda docs: docs.add_computed_column(x=docs.n, on_eror="ignore"), "add_computed_column() has no argument 'on_eror'.", "'on_error'"),
        (lambda docs: docs.add_columns({"x": {"type": db.Int, "primarykey": True}}), "Column has no option 'primarykey'.", "'primary_key'"),
        (lambda _: db.create_dir("main/a", force=True), "create_dir() has no argument 'force'.", "if_exists, parents"),
        (lambda _: db.drop_table("main/a", cascade=True), "drop_table() has no argument 'cascade'.", "force"),
        (lambda _: db.create_table("main/a", is_snapshot=True), "create_table() has no argument 'is_snapshot'.", "pg_dump"),
        (lambda _: db.model_base().create_all(), "create_all() lacks 1 required positional argument: 'target'.", "target"),
        (lambda _: db.model_base().update_all("main", allow=1), "update_all() has no argument 'allow'.", "allow_destructive"),
        (lambda _: db.ResourcePool("x", max=3), "ResourcePool() has no argument 'max'.", "max_concurrent"),
    ],
)
def test_a_wrong_argument_says_what_to_write(docs, call, detail, hint):
    with pytest.raises(db.Error) as caught:
        call(docs)
    assert caught.value.detail == detail
    assert hint in caught.value.hint


def test_a_type_error_of_the_body_stays():
    @checked
    def first(values):
        return len(values)

    with pytest.raises(TypeError, match="has no len"):
        first(1)
