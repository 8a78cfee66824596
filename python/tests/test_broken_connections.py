"""Connections that break while a request runs."""

import pytest

import appdb as db
from test_client import docs, server  # noqa: F401

#: A response of 100 bytes that is cut off, and one whose next chunk is missing.
_CUT = b'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"inserted":'
_CUT_EMPTY = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n"
_CUT_CHUNK = b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n\n\n\r\n'
_BEFORE = "broke before the answer: "


@pytest.fixture
def hosted(server, monkeypatch):  # noqa: F811
    monkeypatch.setenv("SERVICE_API_URL", server.url)
    monkeypatch.setenv("SERVICE_API_KEY", "sk_1")
    return db.get_table("cloud://acme:main/docs")


def error_after(server, end, data, run):  # noqa: F811
    server.breaks[end] = data
    with pytest.raises(db.Error) as caught:
        run()
    assert not server.breaks
    return caught.value


@pytest.mark.parametrize("data", [b"", _CUT, _CUT_CHUNK])
def test_an_insert_that_breaks_says_that_rows_may_be_stored(server, hosted, data):  # noqa: F811
    error = error_after(server, "/rows", data, lambda: hosted.insert(title="a"))
    assert error.detail == f"The connection to {server.url} {_BEFORE}the rows may or may not be stored."
    assert (error.code, error.hint) == (
        "commit_unknown",
        "Count the rows of the table, then insert the missing ones again.",
    )


def test_an_insert_on_this_machine_says_the_same(server, docs):  # noqa: F811
    error = error_after(server, "/rows", b"", lambda: docs.insert([{"title": str(n)} for n in range(5)]))
    assert error.detail == f"The connection to the daemon at {server.url} {_BEFORE}the rows may or may not be stored."
    assert error.code == "commit_unknown"


def test_updates_and_deletes_say_what_is_unknown(server, hosted):  # noqa: F811
    update = error_after(server, "/rows", b"", lambda: hosted.update({"title": "b"}))
    assert update.detail.endswith(f"{_BEFORE}the rows may or may not be changed.")
    batch = error_after(server, "/rows", b"", lambda: hosted.batch_update([{"id": 1, "title": "b"}]))
    assert batch.detail.endswith(f"{_BEFORE}the rows may or may not be changed.")
    delete = error_after(server, "/rows/delete", b"", hosted.delete)
    assert delete.detail.endswith(f"{_BEFORE}the rows may or may not be deleted.")


@pytest.mark.parametrize("data", [b"", _CUT_CHUNK, b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"])
def test_a_change_that_breaks_may_continue(server, hosted, data):  # noqa: F811
    error = error_after(server, "/changes", data, lambda: hosted.add_computed_column(twice=hosted.n * 2))
    assert error.detail.endswith(f"{_BEFORE}the change may or may not be complete, and may continue.")
    assert (error.code, error.hint) == (
        "commit_unknown",
        "See the jobs that continue: cli jobs list cloud://acme:main",
    )


@pytest.mark.parametrize("data", [b"", _CUT_EMPTY])
def test_a_read_that_breaks_says_to_run_it_again(server, hosted, docs, data):  # noqa: F811
    error = error_after(server, "/query", data, lambda: hosted.collect())
    assert error.detail == f"The connection to {server.url} broke before the answer was complete."
    assert (error.code, error.hint) == ("server_unreachable", "Run it again.")
    local = error_after(server, "/query", data, lambda: docs.collect())
    assert (local.code, local.hint[:13]) == ("daemon_failed", "Run it again.")


def test_a_dry_run_that_breaks_is_a_read(server, hosted):  # noqa: F811
    run = lambda: db.create_table("cloud://acme:main/docs", source=[{"title": "a"}], if_exists="replace")  # noqa: E731
    error = error_after(server, "/changes", b"", run)
    assert error.code == "server_unreachable"


def test_a_new_table_whose_first_rows_break_is_dropped(server, hosted):  # noqa: F811
    server.answers["/changes"] = (200, {"event": "done", "plan": {"tables": [{"path": "new"}]}})
    server.tables["new"] = server.tables["docs"]
    run = lambda: db.create_table("cloud://acme:main/new", source=[{"title": "a"}])  # noqa: E731
    error = error_after(server, "/rows", b"", run)
    assert "new table was dropped again" in error.detail
    assert server.bodies("/changes")[-1]["change"]["change"] == "drop_table"
