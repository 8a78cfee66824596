"""A small pool of threads whose work may hang. A hanging thread is given up and replaced."""

import threading
from queue import SimpleQueue

_STACK = 1 << 20  # The worker's memory limit counts stacks.


class Threads:
    """Runs pieces of work in up to `most` threads, in order of arrival."""

    def __init__(self, most, name):
        self._most = most
        self._name = name
        self._queue = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._free = 0  # Waiting threads, minus the pieces of work assigned to them.
        self._given_up = set()

    def submit(self, work):
        """Runs `work()` in a thread; it must not raise. Raises RuntimeError or MemoryError when no thread can start."""
        with self._lock:
            if self._free > 0 or self._threads >= self._most or not self._has_started():
                self._free -= 1
            self._queue.put(work)

    def give_up(self, thread):
        """Gives up a hanging thread (`threading.get_ident()`); it ends when its work does."""
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
        except (RuntimeError, MemoryError):  # The limits of the process: the existing threads share the work.
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
