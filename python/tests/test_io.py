"""appdb.io: exports of tables and queries, and tables of files."""

import json
import os

import pytest

import appdb as db
from appdb.io import export_csv, export_json, export_parquet, import_csv, import_rows
from fake_database import column, definition
from test_client import docs, server  # noqa: F401

TYPES = {"n": "int", "s": "string", "made": "timestamp", "tags": "json", "raw": "binary"}
ROWS = [[2**53 + 1, 'a,"b"', "2026-01-02T03:04:05Z", '{"x":[1,null]}', b"\0"], [None, "é", None, None, None]]


def test_csv_has_a_header_json_and_base64(server, docs, tmp_path):
    server.result(TYPES, ROWS)
    export_csv(docs, tmp_path / "a.csv", delimiter=";")
    assert (tmp_path / "a.csv").read_bytes().decode().split("\r\n") == [
        "n;s;made;tags;raw",
        '9007199254740993;"a,""b""";2026-01-02T03:04:05+00:00;"{""x"": [1, null]}";AA==',
        ";é;;;",
        "",
    ]


def test_texts_of_json_columns_come_back_from_csv(server, docs, tmp_path):
    server.result({"title": "string", "tags": "json"}, [["a", '"5"'], ["b", '"null"'], ["c", "5"], ["d", "[1]"], ["e", None], ["f", '""']])
    export_csv(docs.select(docs.title, docs.tags), tmp_path / "a.csv")
    docs.insert(tmp_path / "a.csv")
    rows = [json.loads(line) for line in server.bodies("/rows")[-1].splitlines()]
    assert [row["tags"] for row in rows] == ["5", "null", 5, [1], None, ""]


def test_an_empty_text_in_csv_has_quotes_and_none_has_not(server, docs, tmp_path):
    rows = [["", None, b""], [None, "a,b", None], ['"', "", b"\xff"]]
    server.result({"title": "string", "other": "string", "raw": "binary"}, rows)
    export_csv(docs, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes().decode().split("\r\n") == [
        "title,other,raw",
        '"",,""',
        ',"a,b",',
        '"""","",/w==',
        "",
    ]


def test_json_is_an_object_a_line(server, docs, tmp_path):
    server.result(TYPES, ROWS)
    export_json(docs.where(docs.n > 1), str(tmp_path / "a.json"))
    assert (tmp_path / "a.json").read_text(encoding="utf-8").splitlines() == [
        '{"n": 9007199254740993, "s": "a,\\"b\\"", "made": "2026-01-02T03:04:05+00:00", "tags": {"x": [1, null]}, "raw": "AA=="}',
        '{"n": null, "s": "é", "made": null, "tags": null, "raw": null}',
    ]


def test_files_are_addresses_that_an_insert_takes(server, docs, tmp_path):
    address, uri, url = "/v1/databases/main/file?token=x", "mediafs://main/home/5f/5f2d.png", "https://example.com/a.png"
    cells = [{"address": address, "uri": uri}, {"address": address, "url": url}, {"address": address}, None]
    server.result({"photo": "image"}, [[cell] for cell in cells])
    export_csv(docs, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines() == ["photo", uri, url, address, '""']
    server.result({"photo": "image"}, [[cell] for cell in cells])
    export_json(docs, tmp_path / "a.jsonl")
    written = [json.loads(line)["photo"] for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert written == [uri, url, address, None]


def test_an_export_that_fails_leaves_the_previous_file(server, docs, tmp_path, monkeypatch):
    server.result(TYPES, ROWS)
    (tmp_path / "a.json").write_text("before")
    monkeypatch.setattr("appdb.io._plain", lambda value: 1 / 0)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(ZeroDivisionError):
        export_json(docs, tmp_path / "a.json")
    assert (tmp_path / "a.json").read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == before


def test_a_table_of_rows_has_a_key_that_is_never_null(server):
    server.tables["people"] = definition("people", column("id", "int", key=True), column("name", nullable=True))
    import_rows("main/people", [{"id": 1, "name": "a"}, {"id": 2, "name": None}], primary_key="id")
    change = server.bodies("/changes")[-1]["change"]["definition"]
    assert [(one["name"], one["nullable"]) for one in change["columns"]] == [("id", False), ("name", True)]
    assert change["primary_key"] == ["id"]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda docs: export_csv([1], "a.csv"), "An export of list is not supported. Give a table or a query"),
        (lambda docs: export_parquet(docs, "a", inline_images=True), "Files are written as addresses"),
        (lambda docs: import_csv("main/x", "a.csv", {"n": db.Int}), r"schema_overrides=...\) is not supported"),
        (lambda docs: db.io.export_lancedb, "to_arrow"),
        (lambda docs: db.io.export_cvs, "Did you mean 'export_csv'"),
    ],
)
def test_what_is_missing_is_refused_by_name(docs, act, message):
    with pytest.raises((db.Error, AttributeError), match=message):
        act(docs)
