"""Keeps a file that was edited just now from being read from its cached bytecode."""

from _frozen_importlib_external import SourceFileLoader  # importlib.machinery's, without loading that

_SECONDS = 2


def distrust_new_sources():
    """Makes imports of this process neither write nor read the bytecode of a source changed within the last 2 seconds.

    A .pyc file names its source by size and by modification time in whole seconds (two of them on some file systems):
    of two edits within one second it cannot tell the first from the second. `path_stats` is the documented place for a
    loader to say that there is no bytecode for a source: it raises OSError, and the source is compiled.
    """
    from time import time

    path_stats = SourceFileLoader.path_stats

    def checked_path_stats(self, path):
        stats = path_stats(self, path)
        if abs(time() - stats["mtime"]) < _SECONDS:
            raise OSError(f"{path} was changed just now")
        return stats

    SourceFileLoader.path_stats = checked_path_stats
