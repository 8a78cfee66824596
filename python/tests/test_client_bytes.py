"""Bytes of Binary columns: bytes in Python, base64 in files of text."""

import pytest

import appdb as db
from fake_database import column, definition
from test_client import server  # noqa: F401
from test_client_writes import sent


def test_text_is_not_bytes_and_bytes_come_back(server):
    server.tables["files"] = definition("files", column("title"), column("data", "binary", nullable=True))
    files = db.get_table("main/files")
    with pytest.raises(db.Error, match=r"row 2, column 'data': expected bytes, got str\. Encode the text: value\.encode\(\)"):
        files.insert([{"title": "a", "data": b"a"}, {"title": "b", "data": "text"}])
    files.insert([{"title": "a", "data": b"text"}, {"title": "b", "data": None}])
    assert sent(server) == [{"title": "a", "data": "dGV4dA=="}, {"title": "b", "data": None}]
    server.answers["/rows"] = (200, {"title": "a", "data": "dGV4dA=="})
    assert files.insert(title="a", data=b"text", return_rows=True).rows == [{"title": "a", "data": b"text"}]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "title,data\na,dGV4dA==\nb,\n"),
        ("a.json", '[{"title": "a", "data": "dGV4dA=="}, {"title": "b", "data": null}]'),
        ("a.jsonl", '{"title": "a", "data": "dGV4dA=="}\n{"title": "b", "data": null}\n'),
    ],
)
def test_files_of_text_have_bytes_in_base64(server, tmp_path, name, text):
    server.tables["files"] = definition("files", column("title"), column("data", "binary", nullable=True))
    files, path = db.get_table("main/files"), tmp_path / name
    path.write_text(text)
    files.insert(path)
    assert sent(server) == [{"title": "a", "data": "dGV4dA=="}, {"title": "b", "data": None}]
