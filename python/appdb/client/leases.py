"""Functions of this program in a hosted database, which keeps them under a lease. A thread renews it."""

import atexit
import os
import sys
import threading
from base64 import b64encode
from contextlib import contextmanager
from time import monotonic

from appdb.declare.errors import Error

#: Bytes of modules in a request, before base64.
_BATCH_BYTES = 8_000_000
#: Functions of queries that stay stored. Those of changes all stay, because columns call them.
_OF_QUERIES = 100
#: Time for the last request of a program that ends.
_END_S = 3
#: A database that was away is asked again so soon. Requests of the program renew the lease when it was not for so long.
_SOON_S = 5
#: A request that waits for so long may wait for the functions, which a database that was restarted has lost.
_SLOW_S = 1


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
        self._renewed_at = 0
        self._tried_at = 0
        self._waiting = {}  # When each request began that has no answer yet.
        self._due = threading.Event()  # The thread has something to do.
        self._is_ending = False
        self._ended = threading.Event()
        self._thread = None
        self.times_stored = 0  # How often everything was stored, so that a request knows whether this came after it.

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

    def renew_soon(self):
        """Makes the thread renew the lease, unless it did a moment ago: a request of the program waits for its functions."""
        if self._thread is not None and monotonic() - self._renewed_at > _SOON_S:
            self._due.set()

    @contextmanager
    def waiting(self):
        """Around a request until its answer. If it takes long, the thread renews the lease once."""
        request = object()
        self._waiting[request] = monotonic()
        try:
            yield
        finally:
            del self._waiting[request]

    def restore(self, since=None):
        """Renews the lease, and stores everything again if the database has lost it. Raises Error.

        Returns whether it had. `since`: `times_stored` before the request that failed; the thread may have been faster.
        """
        with self._lock:
            if since is not None and self.times_stored != since:
                return True
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
        self.times_stored += 1

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
        self._renewed_at = monotonic()

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
        pause = self._seconds / 3
        while True:
            self._wait(pause)
            self._due.clear()
            if self._is_ending:
                break
            self._tried_at = monotonic()
            try:
                self.restore()
                pause = self._seconds / 3
            except Exception:
                pause = min(_SOON_S, self._seconds / 3)  # The database sleeps, or its server is away.
        try:
            if self._id is not None:
                self._connection.call("DELETE", f"/programs/{self._id}")
        except Exception:
            return  # The lease ends without it.
        finally:
            self._ended.set()

    def _wait(self, pause):
        """Waits for the next renewal. Requests do not wake the thread: most have their answer long before it looks."""
        until = monotonic() + pause
        while (left := until - monotonic()) > 0 and not self._due.wait(min(left, _SLOW_S)):
            began = [at for at in list(self._waiting.values()) if at > self._tried_at]
            if began and monotonic() - min(began) >= _SLOW_S:
                return

    def _end(self):
        if self.pid == os.getpid():
            self._is_ending = True
            self._due.set()
            self._ended.wait(_END_S)
