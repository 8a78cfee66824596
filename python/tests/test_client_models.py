"""Models on a target: created, bound, compared and changed with their tables."""

import pytest

import appdb as db
from appdb.functions import upper
from fake_database import column, definition
from test_client import server  # noqa: F401
from test_client_writes import sent


def test_models_are_created_and_bound(server):
    server.tables["tasks"] = definition("tasks", column("title"))
    base = db.model_base()

    class Tasks(base, name="tasks"):
        title: db.String

    with pytest.raises(db.Error, match="Tasks is not bound to a table"):
        Tasks.collect()
    assert Tasks.is_bound is False
    assert base.create_all("main") == ["main/tasks"]
    assert Tasks.is_bound and Tasks.table_path() == "main/tasks"
    server.result({"title": "string"}, [["a"]])
    assert Tasks.where(Tasks.title == "a").collect()[0]["title"] == "a"
    Tasks.insert(title="b")
    assert sent(server) == [{"title": "b"}]
    with pytest.raises(db.NotFoundError, match="has no table 'reports/tasks'"):
        base.bind_all("main/reports")


def test_the_difference_of_models_is_asked_of_the_daemon(server):
    base = db.model_base()

    class Notes(base, name="notes"):
        title: db.String

    table = {"path": "main/notes", "resolution": "create", "ops": []}
    server.answers["/v1/schema/plan"] = (200, {"plan": {"catalog_version": 3, "tables": [table]}})
    assert base.get_model_diff("main") == {"main/notes": table}


def test_models_with_functions_of_the_program_are_a_change(server):
    pytest.importorskip("cloudpickle")
    base = db.model_base()

    @db.udf
    def loud(text: str) -> str:
        return text.upper()

    class Notes(base, name="notes"):
        title: db.String
        shout = loud(title)

    table = {"path": "main/reports/notes", "resolution": "create", "ops": []}
    server.events = [{"event": "done", "plan": {"tables": [table]}}]
    assert base.get_model_diff("main/reports") == {"main/reports/notes": table}
    assert base.update_all("main/reports", allow_destructive=True) == [table]
    planned, made = server.bodies("/changes")
    assert [body["dry_run"] for body in (planned, made)] == [True, False]
    change = made["change"]
    assert (change["change"], change["folder"], change["allow_destructive"]) == ("update_tables", "reports", True)
    assert [one["name"] for one in change["definitions"]] == ["notes"]
    assert made["program"]["modules"]


def test_a_table_without_columns_of_its_model_is_refused(server):
    server.tables["tasks"] = definition("tasks", column("title", "int"))
    base = db.model_base()

    class Tasks(base, name="tasks"):
        title: db.String
        done: db.Bool

    server.events = [{"event": "done", "plan": {"tables": []}}]
    with pytest.raises(db.ConflictError, match="column 'title' is Int, and the model says String; it has no column 'done'"):
        base.create_all("main")
    assert not Tasks.is_bound


def test_a_class_follows_the_changes_of_its_table(server):
    server.tables["tasks"] = definition("tasks", column("title"))
    base = db.model_base()

    class Tasks(base, name="tasks"):
        title: db.String

    base.create_all("main")
    Tasks.add_column(stars=db.Int | None)
    Tasks.rename_column("stars", "rating")
    assert Tasks.columns() == ["title", "rating"] and Tasks.rating._name == "rating"
    assert not hasattr(Tasks, "stars")
    Tasks.drop_column("rating")
    assert Tasks.columns() == ["title"] and not hasattr(Tasks, "rating")


def test_functions_of_models_that_are_missing_are_stored_by_an_update(server):
    server.tables["tasks"] = definition("tasks", column("title"))
    base = db.model_base()

    class Tasks(base, name="tasks"):
        title: db.String

    base.create_all("main")
    errors = [{"pointer": "/0", "detail": "It needs f."}]
    server.answers["/rows"] = (409, {"code": "function_missing", "status": 409, "detail": "It needs f.", "errors": errors})
    with pytest.raises(db.Error) as caught:
        Tasks.insert(title="a")
    assert 'update_all("main")' in caught.value.hint
