"""Changes of definitions that the library sends: tables, columns, indexes, views and folders."""

import sys

import pytest

import appdb as db
from appdb.client.progress import tell_that_it_continues
from appdb.functions import upper, uuid7
from fake_database import column, definition
from test_client import docs, server  # noqa: F401
from test_client_writes import sent


def test_a_table_is_created_from_types(server):
    server.tables["numbers"] = definition("numbers", column("n", "int"))
    made = db.create_table("main/numbers", {"id": db.Column(value=uuid7()), "n": db.Int, "t": db.String | None}, primary_key="id", comment="few", if_exists="ignore")
    assert made.path == "main/numbers"
    (body,) = server.bodies("/changes")
    assert (body["change"]["change"], body["change"]["table"], body["change"]["if_exists"]) == ("create_table", "numbers", "ignore")
    table = body["change"]["definition"]
    assert (table["name"], table["primary_key"], table["comment"]) == ("numbers", ["id"], "few")
    assert [(one["name"], one["type"]["kind"], one["nullable"]) for one in table["columns"]] == [("id", "uuid", False), ("n", "int", False), ("t", "string", True)]
    assert body["runtime"]["python"] == sys.executable


def test_a_table_is_created_from_its_rows(server):
    server.tables["people"] = definition("people", column("title"), column("n", "int"))
    db.create_table("main/people", source=[{"title": "a", "n": 1}, {"title": "b", "n": 2.5, "tags": [1]}])
    columns = server.bodies("/changes")[0]["change"]["definition"]["columns"]
    assert [(one["name"], one["type"]["kind"]) for one in columns] == [("title", "string"), ("n", "float"), ("tags", "json")]
    assert len(sent(server)) == 2
    with pytest.raises(db.Error, match="The column 'n' has a String in row 2, and an Int before"):
        db.create_table("main/people", source=[{"n": 1}, {"n": "x"}])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: db.create_table("main/x", {"n": "Int"}), "is 'Int', not a type"),
        (lambda: db.create_table("main/x", {"n": int}), "Write n: db.Int"),
        (lambda: db.create_table("main/x"), "has no columns"),
        (lambda: db.create_table("main/x", Exception), "schema= is a dict of columns, not <class 'Exception'>"),
        (lambda: db.create_table("main/x", {"n": db.Int}, primary_key="m"), "primary_key= names 'm'"),
        (lambda: db.create_table("main/x", {"n": db.Int}, if_exist="ignore"), "Did you mean 'if_exists'?"),
        (lambda: db.create_table("main/x", {"n": db.Int}, if_exists="maybe"), "'error', 'ignore' or 'replace'"),
        (lambda: db.move("main/a", "other/a"), "stays in one database"),
    ],
)
def test_a_wrong_definition_is_refused(server, make, message):
    with pytest.raises(db.Error, match=message):
        make()


def test_a_computed_column_is_added_by_its_expression(server, docs):
    progress = {"event": "progress", "job": "j", "table": "docs", "column": "x", "rows_done": 5, "rows_total": 5, "errors": 1}
    server.events = [progress, {"event": "done", "plan": {"tables": [{"path": "main/docs", "error_count": 1}]}}]
    server.result({"count": "int"}, [[5]])
    status = docs.add_computed_column(more=upper(docs.title) + "!", if_exists="ignore", on_error="ignore")
    (body,) = server.bodies("/changes")
    assert body["change"]["columns"][0]["computed"]["text"] == "upper(title) + '!'"
    assert (body["change"]["table"], body["change"]["if_exists"], body["on_error"]) == ("docs", "ignore", "ignore")
    assert (status.num_rows, status.num_excs) == (5, 1)


def test_the_same_change_again_has_the_rows_of_the_job_that_it_waited_for(server, docs):
    progress = {"event": "progress", "job": "j", "table": "docs", "column": "more", "rows_done": 5, "rows_total": 5, "errors": 0}
    done = {"event": "done", "plan": {"tables": []}}
    add = lambda: docs.add_computed_column(more=upper(docs.title), if_exists="replace")  # noqa: E731
    server.events = [progress, done]
    server.result({"count": "int"}, [[5]])
    assert repr(add()) == "<filled 5 rows>"
    server.events = [done]
    assert repr(add()) == "<filled 0 rows>"
    server.result({"count": "int"}, [[5]])
    assert repr(docs.add_computed_column(more=upper(docs.title))) == "<filled 5 rows>"


def test_an_interrupted_change_names_a_command_that_shows_its_job_in_any_state(capsys):
    tell_that_it_continues("add columns main/docs", "main", "01a2")
    tell_that_it_continues("add columns main/docs", "main", None)
    assert capsys.readouterr().err.splitlines() == [
        "",
        "add columns main/docs was not cancelled and continues in the database.",
        "Check its progress, or cancel it: cli jobs list main --all; cli jobs cancel main 01a2",
        "",
        "add columns main/docs was not cancelled and may continue in the database.",
        "Find its job and the command that cancels it: cli jobs list main --all",
    ]


@pytest.mark.parametrize(
    ("call", "command", "written"),
    [
        (
            lambda docs: docs.add_computed_column(more=upper(docs.title)),
            "To run it, update the tables again: cli schema update <file> <target>",
            "To run it, make the same call again.",
        ),
        (
            lambda docs: docs.recompute_columns(),
            "To run it: cli recompute <target>/docs",
            "To run it, call recompute_columns() again.",
        ),
    ],
)
def test_a_cancelled_job_names_the_call_and_the_list_of_jobs(server, docs, call, command, written):
    problem = {"status": 409, "code": "job_cancelled", "detail": "The fill of table docs was cancelled.", "hint": command}
    server.events = [{"event": "error", "problem": problem}]
    with pytest.raises(db.ConflictError) as caught:
        call(docs)
    assert caught.value.hint == f"{written} See its job: cli jobs list main --all"
    assert "schema update" not in str(caught.value)


def test_a_function_of_a_module_comes_with_its_code(server, docs, tmp_path, monkeypatch):
    (tmp_path / "client_udfs.py").write_text("import appdb as db\n\n@db.udf\ndef shout(text: str) -> str:\n    return text + '!'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from client_udfs import shout

    server.events = [{"event": "done", "plan": {"tables": []}}]
    server.result({"count": "int"}, [[0]])
    docs.add_computed_column(more=shout(docs.title))
    (body,) = server.bodies("/changes")
    (function,) = body["functions"]
    assert (function["id"], function["source"]) == ("client_udfs:shout", {"file": "client_udfs.py", "line": 3})
    assert body["runtime"]["project_root"] == str(tmp_path.resolve())
    server.result({"x": "string"}, [["a!"]])
    docs.select(x=shout(docs.title)).collect()
    assert server.bodies("/query")[-1]["functions"] == [function]


def test_columns_and_indexes_are_changed_by_name(server, docs):
    docs.drop_column(docs.n)
    docs.rename_column("title", "name")
    docs.add_btree_index("title", idx_name="by_title", if_exists="ignore")
    docs.drop_index(idx_name="by_title", if_not_exists="ignore")
    docs.drop_embedding_index(column="title")
    changes = [body["change"] for body in server.bodies("/changes")]
    assert [one["change"] for one in changes] == ["drop_columns", "rename_column", "add_index", "drop_index", "drop_index"]
    assert changes[0]["columns"] == ["n"] and changes[1]["to"] == "name"
    assert changes[2]["index"]["columns"] == ["title"] and changes[4]["column"] == "title"


def test_an_embedding_index_brings_the_column_with_its_vectors(server, docs, tmp_path, monkeypatch):
    (tmp_path / "client_embeds.py").write_text("import appdb as db\n\n@db.udf\ndef embed(text: str) -> db.Array[(3,), db.Float]:\n    return [1, 2, 3]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    from client_embeds import embed

    docs.add_embedding_index("title", string_embed=embed, idx_name="words")
    (body,) = server.bodies("/changes")
    (hidden,) = body["change"]["columns"]
    assert body["change"]["index"]["values"] == hidden["name"] == "_embedding_title"
    assert body["functions"][0]["id"] == "client_embeds:embed"


def test_an_index_of_the_definition_answers_similarity(server):
    vectors = {**column("_embedding_title", "array", nullable=True, dtype="float32", shape=[3], vector="fp16", computed={"text": "embed(title)", "expr": {"node": "udf"}}), "is_hidden": True}
    index = {"kind": "embedding", "name": "words", "columns": ["title"], "values": "_embedding_title", "metric": "cosine", "precision": "fp16", "dimensions": 3, "source": {"file": "a.py", "line": 1}}
    server.tables["words"] = definition("words", column("title"), vectors, indexes=[index])
    words = db.get_table("main/words")
    assert words.columns() == ["title"]
    server.result({"title": "string"}, [["a"]])
    words.order_by(words.title.similarity(string="x"), asc=False).limit(1).collect()
    assert server.bodies("/query")[0]["query"]["order_by"][0]["expr"]["index"] == "words"


def test_views_are_created_over_conditions_and_iterators(server, docs):
    from appdb.functions.string import string_splitter

    server.tables["many"] = definition("many", view={"base": "docs", "filter": None, "columns": None})
    db.create_view("main/many", docs.where(docs.n > 1), additional_columns={"big": docs.n * 2})
    db.create_view("main/many", docs, iterator=string_splitter(docs.title, separators="sentence"))
    first, second = (body["change"]["definition"] for body in server.bodies("/changes"))
    assert first["view"]["base"] == "docs" and first["view"]["filter"]["text"] == "n > 1"
    assert [one["name"] for one in first["columns"]] == ["big"]
    assert second["view"]["iterator"]["fn"] == "string.string_splitter"
    with pytest.raises(db.Error, match="in another folder than its base"):
        db.create_view("main/reports/many", docs)
    with pytest.raises(db.Error, match="in another database than its base"):
        db.create_view("other/many", docs)


def test_tables_and_folders_are_dropped_and_moved(server, docs):
    db.drop_table(docs, force=True)
    db.drop_table("main/docs", if_not_exists="ignore")
    db.move("main/docs", "main/reports/papers")
    db.create_dir("main/a/b", parents=True, if_exists="ignore")
    db.drop_dir("main/a", force=True, if_not_exists="ignore")
    db.create_dir("main/a", if_exists="replace")
    changes = [body["change"] for body in server.bodies("/changes")]
    assert [one["change"] for one in changes] == ["drop_table", "drop_table", "move_table", "create_folder", "create_folder", *["drop_folder"] * 2, "create_folder"]
    assert changes[0]["force"] is True and changes[2]["to"] == "reports/papers" and changes[6]["force"] is False
    assert [one["folder"] for one in changes[3:]] == ["a", "a/b", "a", "a", "a"]


@pytest.mark.parametrize("code", ["table_exists", "folder_exists"])
def test_a_path_that_is_taken_can_be_ignored(server, docs, code):
    server.events = [{"event": "error", "problem": {"code": code, "status": 409, "detail": "It exists."}}]
    db.move("main/reports", "main/old", if_exists="ignore")
    with pytest.raises(db.ConflictError, match="It exists"):
        db.move("main/reports", "main/old")
    assert [body["change"] for body in server.bodies("/changes")] == [{"change": "move_table", "table": "reports", "to": "old"}] * 2


def test_a_database_is_a_folder_without_folders(server, docs):
    db.create_dir("fresh")
    db.create_dir("main", if_exists="ignore")
    assert server.bodies("/databases/create")[0] == {"name": "fresh", "if_exists": "error"}
    with pytest.raises(db.ConflictError, match="has tables"):
        db.create_dir("main", if_exists="replace")
    with pytest.raises(db.ConflictError, match="exists"):
        db.create_dir("main")
    with pytest.raises(db.ConflictError, match="has tables: 'docs'. Write force=True"):
        db.drop_dir("main")
    with pytest.raises(db.Error, match="cli db delete cloud://acme:main"):
        db.drop_dir("cloud://acme:main")
    with pytest.raises(db.NotFoundError):
        db.drop_dir("none")
    db.drop_dir("none", if_not_exists="ignore")
