"""Handling of standard streams and of the process's end, for both programs of the package."""

import os
import sys


def claim_stdout():
    """Keeps stdout for the program itself and returns its descriptor; output of user code goes to stderr."""
    # Before the exchange: a stream for a file reads its position in it, which a pipe does not have.
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    own = os.dup(1)
    os.dup2(2, 1)
    return own


def forget_current_folder():
    """Removes the current folder from the import path until the project's root is added.

    A project's `json.py` must not replace Python's own while this package loads.
    """
    here = os.getcwd()
    sys.path[:] = [entry for entry in sys.path if entry not in ("", here)]


def give_up(why):
    """Ends a worker that could block its requests forever. The engine reports them and starts another worker. Call it
    in `except`."""
    try:
        os.write(2, f"The worker gives up: {why}\n".encode())
        import traceback

        traceback.print_exc()
    finally:
        os._exit(70)


def end(code):
    """Ends the process at once. Exit handlers run; threads that the application left behind are not awaited."""
    import atexit

    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    finally:
        os._exit(code)
