"""What both programs of the package do with the process's standard streams, and how they end."""

import os
import sys


def claim_stdout():
    """Keeps stdout for the program's own use and returns its descriptor: what user code prints goes to stderr."""
    # Before the exchange: a stream that was made for a file asks for its place in it, which a pipe does not have.
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    own = os.dup(1)
    os.dup2(2, 1)
    return own


def forget_current_folder():
    """Takes the current folder off the import path until the project's root is put there.

    A project's `json.py` must not be taken for Python's while this package loads what it needs.
    """
    here = os.getcwd()
    sys.path[:] = [entry for entry in sys.path if entry not in ("", here)]


def give_up(why):
    """Ends a worker that could hold its requests for ever: the engine tells them, and starts another. Called in `except`."""
    try:
        os.write(2, f"The worker gives up: {why}\n".encode())
        import traceback

        traceback.print_exc()
    finally:
        os._exit(70)


def end(code):
    """Ends the process at once: exit handlers run, threads that the application left behind are not waited for."""
    import atexit

    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    finally:
        os._exit(code)
