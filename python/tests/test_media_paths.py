"""Paths that functions return for media."""

import pytest

from appdb.kinds._media import path_encoder


def test_a_returned_folder_and_a_missing_file_are_told_apart(tmp_path):
    encode = path_encoder("an image")
    with pytest.raises(ValueError, match="is a folder; return the path of a file"):
        encode(tmp_path)
    with pytest.raises(ValueError, match="there is no file"):
        encode(tmp_path / "none.png")
