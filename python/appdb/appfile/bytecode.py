"""Prevents the use of cached bytecode for a file that was just edited."""

from _frozen_importlib_external import SourceFileLoader  # Avoids loading importlib.machinery.

_SECONDS = 2


def distrust_new_sources():
    """Disables reading and writing bytecode of sources changed within the last 2 seconds, for imports of this process.

    A .pyc file identifies its source by size and by modification time in whole seconds (two on some file systems).
    It cannot distinguish two edits within one second. `path_stats` is the documented place for a loader to report
    missing bytecode: it raises OSError, and the source is compiled.
    """
    from time import time

    path_stats = SourceFileLoader.path_stats

    def checked_path_stats(self, path):
        stats = path_stats(self, path)
        if abs(time() - stats["mtime"]) < _SECONDS:
            raise OSError(f"{path} was changed just now")
        return stats

    SourceFileLoader.path_stats = checked_path_stats
