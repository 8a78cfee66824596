"""Functions of this program in a hosted database, which keeps them under a lease. A thread renews it."""

import atexit
import os
import sys
import threading
from base64 import b64encode

from appdb.declare.errors import Error

#: Bytes of modules in a request, before base64.
_BATCH_BYTES = 8_000_000
#: Functions of queries that stay stored. Those of changes all stay, because columns call them.
_OF_QUERIES = 100
#: Time for the last request of a program that ends.
_END_S = 3


class Lease:
    """The functions of one process in one database. A forked process has its own."""

    def __init__(self, connection):
        self.pid = os.getpid()
        self._connection = connection
        self._lock = threading.RLock()
        self._id = None
        self._seconds = 60
        self._modules = {}  # By name: (content, whether a column may call it).
        self._functions = {}  # Documents by id.
        self._ending = threading.Event()
        self._ended = threading.Event()
        self._thread = None

    def keep(self, modules, functions, lasts):
        """Stores functions: contents by name of module, and their documents. `lasts`: a column may call them. Raises Error."""
        with self._lock:
            new = {name: content for name, content in modules.items() if name not in self._modules}
            self._put(new, functions)
            for name, content in modules.items():
                known = self._modules.pop(name, (content, False))
                self._modules[name] = (content, known[1] or lasts)
            self._functions.update({document["id"]: document for document in functions})
            self._forget()
            if self._thread is None:
                self._start()

    def restore(self):
        """Renews the lease, and stores everything again if the database has lost it. Returns whether it had. Raises Error."""
        with self._lock:
            if self._id is None:
                return False
            try:
                self._send({}, [])
            except Error as error:
                if error.code != "program_not_found":
                    raise
                self._store_again()
                return True
            return False

    def _put(self, new, functions):
        try:
            self._send_all(new, functions)
        except Error as error:
            if error.code != "program_not_found":
                raise
            self._store_again()
            self._send_all(new, functions)

    def _store_again(self):
        self._id = None
        contents = {name: content for name, (content, _) in self._modules.items()}
        self._send_all(contents, list(self._functions.values()))

    def _send_all(self, modules, functions):
        """Sends modules in requests of a limited size, each with the documents of its functions."""
        batch, size = {}, 0
        for name, content in modules.items():
            if batch and size + len(content) > _BATCH_BYTES:
                self._send(batch, functions)
                batch, size = {}, 0
            batch[name] = content
            size += len(content)
        if batch or self._id is None:
            self._send(batch, functions)

    def _send(self, modules, functions):
        body = {
            "python": "%d.%d" % sys.version_info[:2],
            "functions": [one for one in functions if one["module"] in modules],
            "modules": [b64encode(content).decode() for content in modules.values()],
        }
        if self._id is None:
            lease = self._connection.call("POST", "/programs", body)
        else:
            lease = self._connection.call("PUT", f"/programs/{self._id}", body)
        self._id, self._seconds = lease["program"], lease["lease_seconds"]

    def _forget(self):
        """Begins another lease without the oldest functions of queries, when they are many."""
        of_queries = [name for name, (_, lasts) in self._modules.items() if not lasts]
        if len(of_queries) <= _OF_QUERIES:
            return
        for name in of_queries[: _OF_QUERIES // 2]:
            del self._modules[name]
        self._functions = {id: one for id, one in self._functions.items() if one["module"] in self._modules}
        previous = self._id
        self._store_again()
        self._connection.call("DELETE", f"/programs/{previous}")

    def _start(self):
        self._thread = threading.Thread(target=self._renew, name="appdb lease", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def _renew(self):
        while not self._ending.wait(self._seconds / 3):
            try:
                self.restore()
            except Exception:
                continue  # The database sleeps, or its server is away: the next time may succeed.
        try:
            if self._id is not None:
                self._connection.call("DELETE", f"/programs/{self._id}")
        except Exception:
            return  # The lease ends without it.
        finally:
            self._ended.set()

    def _end(self):
        if self.pid == os.getpid():
            self._ending.set()
            self._ended.wait(_END_S)
