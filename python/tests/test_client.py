"""The library on a target, against a server that answers as the daemon does."""

import json
import sys
from datetime import datetime, timezone

import pytest

import appdb as db
from appdb.client import databases
from appdb.functions import upper
from fake_database import DOCS, FakeDatabase, column, definition


@pytest.fixture
def server(tmp_path, monkeypatch):
    made = FakeDatabase()
    (tmp_path / "daemon.json").write_text(json.dumps({"port": made.server_address[1]}))
    (tmp_path / "daemon.token").write_text("secret\n")
    monkeypatch.setenv("SERVICE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield made
    databases._open.clear()  # Each keeps a connection.
    made.shutdown()
    made.server_close()


@pytest.fixture
def docs(server):
    return db.get_table("main/docs")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("docs", "it names no database and table. Write main/docs"),
        ("main", "Write main/docs"),
        ("cloud://acme/docs", "Write cloud://acme:main/docs"),
        ("acme:main/docs", "Write cloud://acme:main/docs"),
        ("https://acme/docs", "Write cloud://acme:main/docs"),
        ("main//docs", "a part of it is empty"),
        ("main/2024", "'2024' is not a name"),
        ("main/a.b/c", "'a.b' contains a dot. Write main/a/b/c."),
        ("main/../y", "'..' contains a dot. Write main/y."),
        (b"main/docs", "the path of a table is text"),
    ],
)
def test_a_malformed_path_says_what_to_write(path, message):
    with pytest.raises(db.Error, match="not a valid path") as caught:
        db.get_table(path)
    assert message in str(caught.value)
    assert caught.value.code == "invalid_target"


def test_a_version_of_a_table_is_refused():
    with pytest.raises(db.Error, match="do not keep versions"):
        db.get_table("main/docs:3")


@pytest.mark.parametrize("path", ["main/docs", "main.docs", "MAIN/Docs"])
def test_paths_have_slashes_or_dots(server, path):
    assert db.get_table(path).path == "main/docs"
    assert server.requests[0][1] == "/v1/databases/main/tables/docs/definition"


def test_a_hosted_table_is_asked_of_the_control_plane(server, monkeypatch):
    monkeypatch.setenv("SERVICE_API_URL", server.url)
    monkeypatch.setenv("SERVICE_API_KEY", "sk_1")
    assert db.get_table("cloud://acme:main/docs").path == "cloud://acme:main/docs"
    assert server.requests[0][1] == "/v1/orgs/acme/databases/main/tables/docs/definition"
    assert server.headers[0]["x-api-key"] == "sk_1"


def test_a_missing_table_is_an_error_or_none(server):
    with pytest.raises(db.NotFoundError, match='No table none. db.ls..main') as caught:
        db.get_table("main/none")
    assert caught.value.code == "table_not_found"
    assert db.get_table("main/none", if_not_exists="ignore") is None


@pytest.fixture
def bin_folder(tmp_path, monkeypatch):
    """The folder of this Python, without a command; no other is on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setattr("sys.executable", str(folder / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return folder


def write_command(folder, script):
    command = folder / "cli"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script")
@pytest.mark.parametrize("is_stale", [False, True])
def test_the_command_starts_a_daemon_that_does_not_run(server, tmp_path, bin_folder, is_stale):
    record = (tmp_path / "daemon.json").read_text()
    write_command(bin_folder, f"echo \"$*\" > {tmp_path}/ran; echo '{record}' > \"$SERVICE_HOME\"/daemon.json")
    (tmp_path / "daemon.json").unlink()
    if is_stale:
        (tmp_path / "daemon.json").write_text('{"port": 9}')
    assert db.get_table("main/docs").path == "main/docs"
    assert (tmp_path / "ran").read_text() == "daemon start\n"


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script")
def test_a_daemon_that_does_not_start_is_an_error_with_its_reason(tmp_path, monkeypatch, bin_folder):
    monkeypatch.setenv("SERVICE_HOME", str(tmp_path))
    write_command(bin_folder, "echo 'error: The disk is full.' >&2; exit 1")
    with pytest.raises(db.UnavailableError, match="did not start: The disk is full. See why: cli daemon start"):
        db.get_table("main/docs")


def test_without_a_command_the_error_says_how_to_start_the_daemon(tmp_path, monkeypatch, bin_folder):
    monkeypatch.setenv("SERVICE_HOME", str(tmp_path))
    with pytest.raises(db.UnavailableError, match="Start it: cli daemon start"):
        db.get_table("main/docs")
    (tmp_path / "daemon.json").write_text('{"port": 9}')
    (tmp_path / "daemon.token").write_text("x")
    with pytest.raises(db.UnavailableError, match="Start it: cli daemon start"):
        db.get_table("main/docs")


def test_an_older_server_is_named_with_both_versions(docs):
    with pytest.raises(db.Error, match="has the version 0.8.5 and does not know .*/history.*cli daemon restart"):
        docs.history()


def test_another_build_and_a_newer_server_are_named(docs, monkeypatch):
    from appdb.client import connection

    monkeypatch.setattr(connection, "__version__", "0.8.5")
    with pytest.raises(db.Error, match="does not know .*another build of version 0.8.5.*cli daemon restart"):
        docs.history()
    monkeypatch.setattr(connection, "__version__", "0.8.4")
    with pytest.raises(db.Error, match="library .0.8.4. is older than the daemon .*pip install --upgrade appdb"):
        docs.history()


def test_requests_share_a_connection(server, docs):
    for n in range(5):
        server.result({"n": "int"}, [[n]])
        assert docs.select(docs.n).collect()[0]["n"] == n
    assert len(server.connections) == 1


def test_columns_are_attributes_and_items(docs):
    assert docs.columns() == ["id", "title", "n", "score", "made", "tags", "loud"]
    assert docs["title"] is docs.title
    with pytest.raises(AttributeError, match="Did you mean 'title'?"):
        docs.titel
    with pytest.raises(db.Error, match="does not keep versions|do not keep versions"):
        docs.revert()
    assert "table main/docs" in repr(docs) and "upper(title)" in repr(docs)


def test_a_query_is_sent_as_a_tree_of_the_tables_path(server, docs):
    server.result({"title": "string", "x": "int"}, [["a", 2]], [["b", 4]])
    result = docs.where(docs.n > 1).select(docs.title, x=docs.n * 2).order_by(docs.n, asc=False).limit(5).collect()
    assert list(result) == [{"title": "a", "x": 2}, {"title": "b", "x": 4}]
    (body,) = server.bodies("/query")
    assert body["query"]["from"] == {"table": "docs", "as": "docs"}
    assert body["query"]["order_by"][0]["asc"] is False
    assert body["runtime"]["project_root"]
    assert "SERVICE_API_KEY" not in body["runtime"]["env"]


def test_values_become_python_objects(server, docs):
    types = {"t": "timestamp", "d": "date", "u": "uuid", "j": "json", "b": "binary", "a": {"kind": "array", "dtype": "int16", "shape": [2]}}
    text = "0190a5b0-0000-7000-8000-000000000000"
    server.result(types, [["2026-01-02T03:04:05Z", "2026-01-02", text, '{"x":[1]}', b"\0", [[2], b"\1\0\2\0"]], [None] * 6])
    first, second = docs.collect()
    assert first["t"] == datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    assert (first["d"].year, str(first["u"]), first["j"], first["b"]) == (2026, text, {"x": [1]}, b"\0")
    assert list(first["a"]) == [1, 2]
    assert set(second.values()) == {None}


def test_a_result_is_a_sequence_that_prints_itself(server, docs):
    server.result({"title": "string", "n": "int"}, [[f"title {n}", n] for n in range(25)])
    result = docs.select(docs.title, docs.n).collect()
    assert (len(result), result[3]["n"], result["n"][:3], result[-1, "title"]) == (25, 3, [0, 1, 2], "title 24")
    assert len(result[:2]) == 2 and result.schema == {"title": "String | None", "n": "Int | None"}
    assert repr(result).splitlines()[1].split() == ["title", "0", "0"]
    assert "5 more rows" in repr(result)
    assert "<th>title</th>" in result._repr_html_()
    with pytest.raises(db.Error, match="no column 'titel'. Did you mean 'title'?"):
        result["titel"]


def test_a_cursor_reads_blocks_as_they_come_and_ends_the_query_when_closed(server, docs):
    server.result({"n": "int"}, [[1], [2]], [[3]])
    assert [row["n"] for row in docs.select(docs.n).cursor()] == [1, 2, 3]
    server.result({"n": "int"}, [[1], [2]])
    with docs.select(docs.n).cursor() as rows:
        assert next(rows) == {"n": 1}
    assert list(rows) == []


def test_an_error_in_the_middle_and_a_missing_end_are_errors(server, docs):
    problem = {"code": "query_timeout", "status": 504, "detail": "It took too long.", "hint": "Ask for less."}
    server.result({"n": "int"}, [[1]], end=[{"error": problem}])
    with pytest.raises(db.UnavailableError, match="It took too long. Ask for less."):
        docs.select(docs.n).collect()
    server.result({"n": "int"}, [[1]], end=[])
    with pytest.raises(db.UnavailableError, match="cut off"):
        docs.select(docs.n).collect()


def test_count_head_and_tail_run(server, docs):
    server.result({"count": "int"}, [[7]])
    assert docs.where(docs.n == 1).count() == 7
    for verb, bound in (("head", "limit"), ("tail", "tail")):
        server.result({"n": "int"}, [[1]])
        assert len(getattr(docs, verb)(3)) == 1
        assert server.bodies("/query")[-1]["query"][bound]["value"] == "3"


def test_a_join_names_both_tables(server, docs):
    server.tables["reports/authors"] = definition("authors", column("id", "int", key=True), column("name"))
    authors = db.get_table("main/reports/authors")
    server.result({"title": "string", "name": "string"}, [["a", "b"]])
    docs.join(authors, on=docs.n == authors.id).select(docs.title, authors.name).collect()
    (joined,) = server.bodies("/query")[0]["query"]["joins"]
    assert (joined["table"], joined["as"]) == ("reports/authors", "authors")
    server.tables["old/docs"] = DOCS
    other = db.get_table("main/old/docs")
    server.result({"title": "string"}, [["a"]])
    docs.join(other, on=docs.n == other.n).select(other.title).collect()
    query = server.bodies("/query")[1]["query"]
    assert (query["joins"][0]["as"], query["select"][0]["expr"]["of"]) == ("docs_2", "docs_2")
    with pytest.raises(db.Error, match="reads 'name' of authors, which it does not name"):
        docs.select(authors.name).collect()


def test_tables_of_one_name_in_two_folders_are_joined(server):
    for folder in ("old", "new"):
        server.tables[f"{folder}/docs"] = definition("docs", column("id", "int", key=True))
    old, new = db.get_table("main/old/docs"), db.get_table("main/new/docs")
    server.result({"id": "int", "id_1": "int"}, [[1, 1]])
    old.join(new, on=old.id == new.id).collect()
    query = server.bodies("/query")[0]["query"]
    assert (query["from"]["as"], query["joins"][0]["as"]) == ("docs", "docs_2")
    assert [arg["of"] for arg in query["joins"][0]["on"]["args"]] == ["docs", "docs_2"]


def test_two_objects_of_a_table_share_its_columns(server, docs):
    again = db.get_table("main/docs")
    server.result({"n": "int"}, [[1]])
    assert docs.where(again.n > 0).collect()[0]["n"] == 1
    assert again == docs


def test_a_table_that_changed_meanwhile_gives_the_servers_error(server, docs):
    server.answers["/query"] = (409, {"code": "schema_changed", "status": 409, "detail": "docs.n changed.", "hint": "Get it again."})
    with pytest.raises(db.ConflictError, match="docs.n changed. Get it again."):
        docs.collect()


@pytest.mark.parametrize("verb", ["len(t.limit(1))", "bool(t.limit(1))", "t.limit(1)[0]"])
def test_a_query_has_no_value_until_it_runs(docs, verb):
    with pytest.raises(db.Error, match=r"Run it: .collect\(\)"):
        eval(verb, {"t": docs})


def test_a_changed_definition_keeps_the_references_to_other_columns(server, docs):
    title, n = docs.title, docs.n
    changed = [one if one["name"] != "n" else column("n", "float", nullable=True) for one in DOCS["columns"]]
    server.tables["docs"] = {**DOCS, "columns": [*changed, column("more")]}
    assert repr(docs.add_column(more=db.String | None)) == "<added the column more>"
    assert docs.title is title and docs.n is not n and docs.more is not None


def test_views_show_the_columns_of_their_base_and_outputs_of_iterators(server):
    outputs = [{"name": "text", "type": {"kind": "string"}, "nullable": True, "is_stored": True}]
    iterator = {"fn": "string.string_splitter", "is_udf": False, "args": [], "kwargs": {}, "text": "string_splitter(title)", "outputs": outputs}
    view = {"base": "docs", "filter": None, "columns": None, "iterator": iterator}
    server.tables["parts"] = definition("parts", column("size", "int", computed={"text": "text.len()", "expr": {"node": "item"}}), view=view)
    parts = db.get_table("main/parts")
    assert parts.columns()[:4] == ["pos", "text", "id", "title"] and "size" in parts.columns()
    assert parts.get_base_table().path == "main/docs"
    assert db.get_table("main/docs").list_views() == ["main/parts"]
    with pytest.raises(db.Error, match=r'main/parts is a view.*get_table\("main/docs"\).insert'):
        parts.insert(title="a")


def test_tables_and_folders_are_listed(server):
    server.tables["reports/authors"] = definition("authors", column("id", "int"))
    assert db.list_tables() == ["main/docs", "main/reports/authors"]
    assert db.list_tables("main", recursive=False) == ["main/docs"]
    assert db.list_dirs("main") == ["main/empty", "main/reports"]
    assert [row["name"] for row in db.ls("main")] == ["empty", "reports", "docs"]
    assert [row["name"] for row in db.ls()] == ["main"]


def test_functions_are_listed_by_namespace():
    names = db.list_functions()
    assert {"string.upper", "image.resize", "json.map"} & set(names) >= {"string.upper", "image.resize"}
    assert names == sorted(set(names))


def test_a_table_of_an_application_file_is_not_opened(server, monkeypatch):
    from appdb.declare.declaring import Phase

    monkeypatch.setattr(Phase, "running", True)
    with pytest.raises(db.AppFileError, match="a running function cannot"):
        db.get_table("main/docs")


def test_the_library_loads_nothing_before_it_is_used():
    import subprocess
    import sys

    from conftest import environment

    done = subprocess.run(
        [sys.executable, "-S", "-c", "import sys, appdb; print(*sys.modules)"],
        env=environment(), capture_output=True, text=True, timeout=60,
    )
    loaded = done.stdout.split()
    assert "appdb" in loaded and not [name for name in loaded if name.startswith("appdb.") or name in ("json", "http.client")]


def test_threads_share_a_table(server, docs):
    from concurrent.futures import ThreadPoolExecutor

    for _ in range(20):
        server.result({"n": "int"}, [[1]])
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: docs.select(docs.n).collect()[0]["n"], range(20))) == 20


def test_databases_are_kept_by_home(server, docs, tmp_path, monkeypatch):
    assert databases.database_of(docs.__appdb_database__.target) is docs.__appdb_database__
    monkeypatch.setenv("SERVICE_HOME", str(tmp_path / "other"))
    assert databases.database_of(docs.__appdb_database__.target) is not docs.__appdb_database__
    assert upper(docs.title) is not None


def test_a_model_that_failed_in_an_earlier_cell_does_not_matter(server):
    with pytest.raises(ZeroDivisionError):

        class Wrong(db.model_base(), name="wrong"):
            number: db.Int = 1 // 0

    assert db.get_table("main/docs").columns()


@pytest.mark.parametrize(("kind", "value"), [("timestamp", "infinity"), ("date", "-infinity"), ("date", "4000-01-01 BC")])
def test_a_time_that_python_has_not_is_named(server, docs, kind, value):
    for read in (lambda query: query.collect(), lambda query: list(query.cursor())):
        server.result({"made": kind}, [["2026-01-02" if kind == "date" else "2026-01-02T00:00:00Z"], [value]])
        with pytest.raises(db.Error, match=f"The column made has {value}, which is not a") as caught:
            read(docs.select(docs.made))
        assert caught.value.code == "value_outside_type" and "--set made=" in caught.value.hint
