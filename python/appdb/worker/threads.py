"""A small pool of threads whose work may hang: a thread that does is given up and another takes its place."""

import threading
from queue import SimpleQueue

_STACK = 1 << 20  # the worker's memory limit counts stacks


class Threads:
    """Runs pieces of work in up to `most` threads, in the order in which they come."""

    def __init__(self, most, name):
        self._most = most
        self._name = name
        self._queue = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._free = 0  # threads that wait, less the pieces of work that are there for them
        self._given_up = set()

    def submit(self, work):
        """Has a thread call `work()`, which must not raise. Raises RuntimeError or MemoryError when there can be none."""
        with self._lock:
            if self._free > 0 or self._threads >= self._most or not self._has_started():
                self._free -= 1
            self._queue.put(work)

    def give_up(self, thread):
        """Stops counting on a thread (`threading.get_ident()`) that hangs; it ends when its work does."""
        with self._lock:
            if thread not in self._given_up:
                self._given_up.add(thread)
                self._threads -= 1
                if self._free < 0:
                    self._start()
                    self._free += 1

    def _has_started(self):
        try:
            self._start()
        except (RuntimeError, MemoryError):  # the limits of the process: the threads that are there take it in turn
            if self._threads == 0:
                raise
            return False
        return True

    def _start(self):
        before = threading.stack_size(_STACK)
        try:
            threading.Thread(target=self._run, name=self._name, daemon=True).start()
            self._threads += 1
        finally:
            threading.stack_size(before)

    def _run(self):
        own = threading.get_ident()
        while True:
            self._queue.get()()
            with self._lock:
                if own in self._given_up:
                    self._given_up.discard(own)
                    return
                self._free += 1
