"""Errors of connections that cannot be opened, or that break before the whole answer arrived."""

import http.client
from typing import NamedTuple

from appdb.client.errors import UnavailableError
from appdb.client.servers import not_running


class Write(NamedTuple):
    """What is unknown after a request whose connection broke, and how its caller finds out.

    `jobs`: the next step after a cancelled job, besides the call itself; None for a request without jobs."""

    unknown: str
    hint: str
    jobs: str | None = None


INSERT = Write("the rows may or may not be stored", "Count the rows of the table, then insert the missing ones again.")
UPDATE = Write("the rows may or may not be changed", "Read the rows before you change them again.")
DELETE = Write("the rows may or may not be deleted", "Count the rows of the table before you delete them again.")


def fill_of(what, target):
    """A change or a recompute: jobs of the database continue without the caller."""
    return Write(
        f"{what} may or may not be complete, and may continue",
        f"See the jobs that continue: cli jobs list {target}",
        f"See its job: cli jobs list {target} --all",
    )


def ended(error, write):
    """The error that a change or recompute ended with. That of a cancelled job also says where the job is listed."""
    if error.code != "job_cancelled" or write is None or write.jobs is None:
        return error
    hint = write.jobs if error.hint is None else f"{error.hint} {write.jobs}"
    return type(error)(error.detail, hint, error.code, error.errors)


def not_opened(server, error):
    """The error of a server that accepts no connection."""
    if isinstance(error, ConnectionRefusedError) and server.is_local:
        return not_running()
    if server.is_local:
        return UnavailableError(
            f"The daemon at {server.url} accepts no connection{_reason(error)}.",
            "Check its state and its log: cli daemon status",
            "daemon_failed",
        )
    return UnavailableError(
        f"No server responds at {server.url}{_reason(error)}.", "Check its address.", "server_unreachable"
    )


def broken(server, error, write=None):
    """The error of a request that was sent, fully or in part. `write`: what it may have changed; None for a read."""
    place = f"the daemon at {server.url}" if server.is_local else server.url
    if write is not None:
        return UnavailableError(
            f"The connection to {place} broke before the answer: {write.unknown}.", write.hint, "commit_unknown"
        )
    return UnavailableError(
        f"The connection to {place} broke before the answer was complete{_reason(error)}.",
        "Run it again. If it breaks again, see the daemon's log: cli daemon status" if server.is_local else "Run it again.",
        "daemon_failed" if server.is_local else "server_unreachable",
    )


def _reason(error):
    """The system's reason. That the other side closed the connection needs none."""
    if isinstance(error, (http.client.IncompleteRead, http.client.RemoteDisconnected)):
        return ""
    return f": {str(error) or type(error).__name__}"
