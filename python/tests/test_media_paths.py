"""Paths that functions return for media."""

import pytest

from appdb.kinds._media import path_encoder


def test_a_returned_folder_and_a_missing_file_are_told_apart(tmp_path):
    encode = path_encoder("an image")
    with pytest.raises(ValueError, match="is a folder; return the path of a file"):
        encode(tmp_path)
    with pytest.raises(ValueError, match="there is no file"):
        encode(tmp_path / "none.png")


def test_files_of_the_library_have_the_name_of_their_worker(tmp_path, monkeypatch):
    from appdb.functions._media_aggregates import _Images
    from appdb.kinds._media import scratch_file

    monkeypatch.setenv("APPDB_SCRATCH", str(tmp_path))
    monkeypatch.setenv("APPDB_SCRATCH_NAME", "worker-5f-")
    kept = _Images("stack")
    scratch_file(".mp4")
    names = [entry.name for entry in tmp_path.iterdir()]
    assert len(names) == 2
    assert all(name.startswith("worker-5f-") for name in names), kept
