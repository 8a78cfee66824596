"""Errors of a program that uses the library: their hints name functions and arguments, not commands."""

import os
import subprocess
import sys

import pytest

import appdb as db
from appdb.client.hints import for_program
from appdb.expressions.expr import literal
from appdb.functions import upper
from test_client import docs, server  # noqa: F401


@pytest.mark.parametrize(
    ("hint", "written"),
    [
        (None, None),
        ("Correct the row, or let failing cells be null: --on-error ignore", 'Correct the row, or let failing cells be null: on_error="ignore"'),
        ("Drop these first. With its views: cli drop main/a/docs --cascade", 'Drop these first. With its views: db.drop_table("main/a/docs", force=True)'),
        ("Use another name, or drop it first: cli drop main/docs", 'Use another name, or drop it first: db.drop_table("main/docs")'),
        ("Give it another name there: cli rename main/a/docs papers", 'Give it another name there: db.move("main/a/docs", "main/a/papers")'),
        (
            "Create it first: cli schema update <file> <target>",
            "If it was moved, open it again at its path: db.get_table(path). db.list_tables() has the paths.",
        ),
        ("List the tables: cli ls main", 'List the tables: db.ls("main")'),
        ("Send the key of an existing row. An insert route creates rows.", 'Send the key of an existing row. Or write if_not_exists="insert".'),
        ("Request less, or send a greater timeout_ms.", "Request less, or give a greater timeout=."),
        ("Send other values, or correct the function and run `cli service update`.", "Send other values, or correct the function."),
        ("Change it from there: cd shop", "Change it from there: cd shop"),
        ("To run it, update the tables again: cli schema update <file> <target>", "To run it, make the same call again."),
        ("To run it: cli recompute <target>/docs", "To run it, call recompute_columns() again."),
        (
            "Restore the function, or change the column and run `cli schema update`. Or so.",
            'Restore the function, or replace the column: add_computed_column(..., if_exists="replace"). Or so.',
        ),
        ("Run cli schema update again.", "Make the same call again."),
    ],
)
def test_hints_of_servers_are_in_the_words_of_the_library(hint, written):
    assert for_program(hint) == written


def test_an_error_of_a_server_has_such_a_hint(server, docs):  # noqa: F811
    problem = {"status": 409, "code": "has_dependents", "detail": "Needed.", "hint": "cli drop main/docs --cascade"}
    server.answers["/changes"] = (409, problem)
    with pytest.raises(db.ConflictError) as caught:
        db.drop_table(docs)
    assert caught.value.hint == 'db.drop_table("main/docs", force=True)'


@pytest.mark.parametrize("timeout", ["5", 0, -1, True, float("nan"), float("inf")])
def test_a_time_limit_is_a_number_of_seconds(docs, timeout):  # noqa: F811
    with pytest.raises(db.Error, match="timeout= is a number of seconds above 0"):
        docs.collect(timeout=timeout)


def test_tables_and_counts_take_a_time_limit(server, docs):  # noqa: F811
    server.result({"id": "int"}, [[1]])
    server.result({"count": "int"}, [[7]])
    server.result({"id": "int"}, [[1]])
    docs.select(docs.id).collect(timeout=0.5)
    assert docs.count(timeout=5) == 7
    list(docs.select(docs.id).cursor(timeout=2))
    assert [body["timeout_ms"] for body in server.bodies("/query")] == [500, 5000, 2000]


def test_failed_cells_of_a_new_column_are_counted(server, docs):  # noqa: F811
    server.result({"count": "int"}, [[3]])
    line = {"event": "progress", "job": "j", "table": "docs", "column": "more", "rows_done": 3, "rows_total": 3}
    plan = {"tables": [{"path": "main/docs", "error_count": 0}]}
    server.events = [{**line, "errors": 1}, {**line, "errors": 2}, {"event": "done", "plan": plan}]
    status = docs.add_computed_column(more=upper(docs.title), on_error="ignore")
    assert (status.num_rows, status.num_excs) == (3, 2)


@pytest.mark.parametrize(("options", "sent"), [({}, "abort"), ({"errors_only": True}, "ignore"), ({"errors_only": True, "on_error": "abort"}, "abort")])
def test_recomputing_failed_cells_continues_after_one_that_fails_again(server, docs, options, sent):  # noqa: F811
    server.events = [{"event": "done", "result": {"rows_done": 1, "errors": 1}}]
    docs.recompute_columns("loud", **options)
    assert server.bodies("/recompute")[-1]["on_error"] == sent


@pytest.mark.parametrize(
    ("call", "written"),
    [
        (lambda docs: docs.update(n=5), 'docs.update({"n": 5}, where=...)'),
        (lambda docs: docs.where(docs.id == 1).update(n=5), 'docs.update({"n": 5}, where=...)'),
        (lambda docs: docs.update(), "takes a dict of new values"),
        (lambda docs: docs.drop_index("by_n"), 'docs.drop_index(idx_name="by_n")'),
        (lambda docs: docs.insert([{"a": 1}], columns=["a"]), 'columns={"Title": "title"}'),
        (lambda docs: docs.join(docs, on=docs.id, how="outer"), 'how="full"'),
    ],
)
def test_a_wrong_call_says_what_to_write(docs, call, written):  # noqa: F811
    with pytest.raises(db.Error) as caught:
        call(docs)
    assert written in str(caught.value)


def test_values_of_pandas_and_numpy_are_constants(docs):  # noqa: F811
    pandas, numpy = pytest.importorskip("pandas"), pytest.importorskip("numpy")
    at = pandas.Timestamp("2024-01-03", tz="Asia/Tokyo")
    assert literal(at)._node["value"] == "2024-01-02T15:00:00Z"
    assert literal(numpy.datetime64("2024-01-03T00:00:00.000000001"))._node["value"] == "2024-01-03T00:00:00Z"
    assert docs.n.isin(numpy.array([1, 2]))._text == "n.isin([1, 2])"
    assert docs.n.isin(pandas.Series([3]))._text == "n.isin([3])"
    with pytest.raises(db.Error, match="NaTType cannot be a constant"):
        literal(pandas.NaT)


Base = db.model_base()


class Author(Base, name="authors"):
    name: db.String


@pytest.mark.parametrize(
    "use",
    [
        lambda: Author.insert(name="a"),
        lambda: bool(Author.count()),
        lambda: Author.count() == 0,
        lambda: Author.where(Author.name == "a").collect(),
        lambda: list(Author.head(2)),
    ],
)
def test_an_unbound_model_names_its_base_and_the_next_step(use, monkeypatch):
    with pytest.raises(db.Error, match="The model Author is not bound to a table") as caught:
        use()
    assert "database.create_all(Base)" in caught.value.hint
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    with pytest.raises(db.Error, match="not bound") as caught:
        use()
    assert caught.value.hint == 'Bind it: Base.bind_all("main"), or create its table: Base.create_all("main")'


def test_a_database_with_tables_of_another_project_is_not_deleted(server, docs, tmp_path):  # noqa: F811
    other = tmp_path / "other"
    other.mkdir()
    projects = [str(tmp_path), str(other), str(tmp_path / "moved")]
    server.answers["/v1/databases"] = (200, {"databases": [{"name": "main", "projects": projects}]})
    with pytest.raises(db.ConflictError, match="has tables of the project '.*other'. Nothing was deleted") as caught:
        db.drop_dir("main", force=True)
    assert caught.value.code == "other_project"
    assert caught.value.hint.endswith("To delete all of them: cli db delete main")
    assert server.bodies("/databases/delete") == []


def a_command(tmp_path, monkeypatch, stderr):
    """A home without a daemon, and a command that cannot start one."""
    home, folder = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    folder.mkdir()
    command = folder / "cli"
    command.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{stderr}\nEND\nexit 1\n")
    command.chmod(0o755)
    monkeypatch.setenv("SERVICE_HOME", str(home))
    monkeypatch.setenv("PATH", str(folder) + os.pathsep + os.environ["PATH"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))


@pytest.mark.skipif(os.name == "nt", reason="The command is a shell script.")
def test_a_daemon_that_does_not_start_gives_its_reason_and_next_step(tmp_path, monkeypatch):
    said = "The daemon is replaced.\nerror: The daemon could not be started: it ended.\n  No PostgreSQL.\nhint: pip install 'appdb[serve]'"
    a_command(tmp_path, monkeypatch, said)
    with pytest.raises(db.UnavailableError) as caught:
        db.get_table("main/docs")
    assert caught.value.detail == "The daemon did not start: The daemon could not be started: it ended. No PostgreSQL."
    assert caught.value.hint == "pip install 'appdb[serve]'"


@pytest.mark.skipif(os.name == "nt", reason="The command is a shell script.")
def test_a_home_below_a_file_is_told_by_the_command(tmp_path, monkeypatch):
    a_command(tmp_path, monkeypatch, "error: A part of the path is a file.\nhint: Set SERVICE_HOME.")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SERVICE_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(db.UnavailableError, match="A part of the path is a file"):
        db.get_table("main/docs")


def test_a_function_of_a_session_is_told_where_to_go():
    program = "import appdb as db; from appdb.udfs.signatures import check_importable\ndef f(): pass\ncheck_importable(f, 'a UDF')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert "is in a notebook or session, which has no file. Put it into a module that is imported, for example functions.py" in done.stderr
