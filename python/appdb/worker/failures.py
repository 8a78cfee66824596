"""Worker errors: the reason for the missing value of a cell, in protocol form."""

import errno
import os

from appdb._folder import LIBRARY_FOLDER
from appdb.values import WrongType

_LONGEST_MESSAGE = 2000


class TooLate(TimeoutError):
    """An async call that was cancelled at its time limit."""


class Missing(Exception):
    """The application's code lacks the function."""


class ProgramEnded(Missing):
    """The program that defined the function has ended."""


# The protocol form of the library's own exceptions: (kind, class name).
_TOLD = {WrongType: ("wrong_type", "TypeError"), TooLate: ("timeout", "TimeoutError"), Missing: ("missing", "Missing"), ProgramEnded: ("missing", "ProgramEnded")}


def worker_error(function, error, project_root, kind=None):
    """Describes an exception of `function`: class, message, and the innermost line of the project's own files."""
    own = _TOLD.get(type(error), ("memory" if isinstance(error, MemoryError) else "raised", type(error).__name__))
    if is_disk_full(error):
        own = ("raised", "disk_full")
    return {
        "kind": kind or own[0],
        "function": function,
        "type": own[1],
        "message": message_of(error),
        "at": place_of(error, project_root),
    }


def skipped(cause):
    """The error of a column that reads a failed one."""
    return {**cause, "kind": "skipped"}


def message_of(error):
    """An exception's message in a form that can be sent."""
    if isinstance(error, MemoryError) and not error.args:
        return "out of memory"
    if is_disk_full(error):
        return "the disk has no space left"  # The text would show a path of this machine.
    try:
        text = str(error)
    except Exception as inner:  # An exception class of the application whose __str__ fails.
        text = f"(its text cannot be printed: {type(inner).__name__})"
    if is_of_environment(error):
        text += " is not a variable of the environment"
    if len(text) > _LONGEST_MESSAGE:
        text = text[: _LONGEST_MESSAGE - 3] + "..."
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


def is_disk_full(error):
    """Whether the system refused a write for lack of space."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def is_of_environment(error):
    """Whether a missing variable of os.environ was read."""
    if not isinstance(error, KeyError) or error.__traceback__ is None:
        return False
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_globals.get("__name__") == "os"


def place_of(error, project_root):
    root = project_root.rstrip(os.sep) + os.sep
    found, trace = None, error.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if filename.startswith(root) and not filename.startswith(LIBRARY_FOLDER):
            relative = filename[len(root) :]
            if "site-packages" not in relative and "dist-packages" not in relative:
                found = f"{relative.replace(os.sep, '/')}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


