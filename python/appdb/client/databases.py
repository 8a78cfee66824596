"""A database that the program uses: its connection, its files, and the definitions of its tables."""

import os
import weakref

from appdb.client.broken import fill_of
from appdb.client.cells import Files
from appdb.client.connection import Connection
from appdb.client.definitions import declarations, fill
from appdb.client.servers import find_server, quoted

_open = {}


class Database:
    """A database of this machine or of a server. Nothing is sent before the first request."""

    def __init__(self, target):
        self.target = target
        self.connection = Connection(lambda: find_server(target.organization, target.database))
        self.connection.lease = self._living_lease
        self.files = Files(self.connection)
        self.copied = frozenset()  # Ids of functions of modules, of which a hosted database has copies for queries.
        self._lease = None
        self._declared = weakref.WeakValueDictionary()  # By path, so that all of the program's tables share their columns.

    @property
    def is_local(self):
        """Whether it is one of this machine."""
        return self.target.organization is None

    def lease(self):
        """The functions of this process in a hosted database."""
        if self._lease is None or self._lease.pid != os.getpid():
            from appdb.client.leases import Lease

            self._lease = Lease(self.connection)
        return self._lease

    def _living_lease(self):
        """The lease of this process; None before its first function."""
        return self._lease if self._lease is not None and self._lease.pid == os.getpid() else None

    def table_path(self, path, rest=""):
        """The path of a route of a table: `/tables/reports%2Fdocs/rows`."""
        return f"/tables/{quoted(path)}{rest}"

    def definition(self, path):
        """The definition of a table or view. Raises Error."""
        return self.connection.call("GET", self.table_path(path, "/definition"))["definition"]

    def declarations(self, path):
        """The declarations of a table or view, and of what it is over."""
        known = self._declared.get(path)
        if known is not None:
            self.refresh(known)
            return known
        definition = self.definition(path)
        declared = declarations(path, definition, self._base(path, definition))
        return self._declared.setdefault(path, declared)

    def refresh(self, table):
        """Reads the definition of a table again, into its declarations."""
        definition = self.definition(table.path)
        fill(table, definition, self._base(table.path, definition))

    def _base(self, path, definition):
        view = definition.get("view")
        if view is None:
            return None
        folder, slash, _ = path.rpartition("/")
        base = view["base"]
        return self.declarations(base if "/" in base else f"{folder}{slash}{base}")

    def change(self, change, code=None, on_error="abort", dry_run=False, progress=None):
        """Makes a change of a table or folder, and returns its plan. Raises Error."""
        body = {
            "change": change,
            **(code or {"functions": [], "resource_pools": [], "runtime": None}),
            "on_error": on_error,
            "dry_run": dry_run,
        }
        if self.is_local and body["runtime"] is None:
            from appdb.client.code import Code

            body["project_root"] = Code().root
        write = None if dry_run else fill_of("the change", self.target.text)
        return self.connection.events("/changes", body, progress, write)["plan"]


def database_of(target):
    """The open database of a target, one for each."""
    from appdb.client.servers import home_folder

    key = (target.text, str(home_folder()))
    # Without a lock: another thread could hold it during a fork, and the child would wait for ever.
    return _open.get(key) or _open.setdefault(key, Database(target))
