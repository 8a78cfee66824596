"""Paths that functions return for media."""

import pytest

from appdb.kinds._media import path_encoder


def test_a_returned_folder_and_a_missing_file_are_told_apart(tmp_path):
    encode = path_encoder("an image")
    with pytest.raises(ValueError, match="is a folder; return the path of a file"):
        encode(tmp_path)
    with pytest.raises(ValueError, match="there is no file"):
        encode(tmp_path / "none.png")


def test_a_file_of_the_library_has_the_name_of_its_worker(tmp_path, monkeypatch):
    from appdb.kinds._media import scratch_file

    monkeypatch.setenv("APPDB_SCRATCH", str(tmp_path))
    monkeypatch.setenv("APPDB_SCRATCH_NAME", "worker-5f-")
    scratch_file(".mp4")
    (name,) = [entry.name for entry in tmp_path.iterdir()]
    assert name.startswith("worker-5f-")
