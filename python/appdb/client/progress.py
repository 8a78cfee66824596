"""A line on stderr about work that takes longer than a second."""

import sys
import time

_AFTER_S = 1.0
_EVERY_S = 0.2


class Progress:
    """Counts done rows, and shows them in a terminal or notebook."""

    def __init__(self, what, total=None):
        self._what = what
        self._total = total
        self._began = time.monotonic()
        self._shown = 0.0
        self._is_seen = sys.stderr.isatty() or "ipykernel" in sys.modules

    def at(self, done, total=None):
        """Tells how many rows are done."""
        now = time.monotonic()
        if not self._is_seen or now - self._began < _AFTER_S or now - self._shown < _EVERY_S:
            return
        self._shown = now
        total = total or self._total
        sys.stderr.write(f"\r{self._what}: {_bar(done, total)} {done / (now - self._began):,.0f} rows/s ")
        sys.stderr.flush()

    def end(self):
        """Ends the line, if one was shown."""
        if self._shown:
            sys.stderr.write("\n")
            sys.stderr.flush()


def tell_that_it_continues(what, target, job):
    """Says on stderr that an interrupted change continues in the database, and how to see and cancel it.

    `job` is None if the database has not named one yet: the change may wait for another one, and then never begins.
    """
    verb = "may continue" if job is None else "continues"
    sys.stderr.write(f"\n{what} was not cancelled and {verb} in the database.\n")
    if job is None:
        sys.stderr.write(f"Find its job and the command that cancels it: cli jobs list {target} --all\n")
    else:
        sys.stderr.write(f"Check its progress, or cancel it: cli jobs list {target} --all; cli jobs cancel {target} {job}\n")
    sys.stderr.flush()


def _bar(done, total):
    if not total:
        return f"{done:,} rows"
    part = min(1.0, done / total)
    filled = round(20 * part)
    return f"[{'#' * filled}{'.' * (20 - filled)}] {done:,} of {total:,} rows"
