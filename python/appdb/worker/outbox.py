"""The output of a worker: one frame after the other, from any thread."""

import _thread
import time

from appdb.worker.failures import worker_error

TICK = 0.005  # A row that runs longer is reported to the engine.


class Outbox:
    """Writes frames under a lock. `lock` is held while writing, and while the rows of a call are inspected."""

    def __init__(self, writer, project_root):
        self.lock = _thread.allocate_lock()
        self._writer = writer
        self._root = project_root

    def send(self, *frames):
        """Writes frames. Raises MemoryError before any byte was written."""
        with self.lock:
            self._writer.write(*frames)

    def finish(self, call):
        """Sends the rest of a call's rows and its end; the lock is held."""
        done = {"t": "done", "call": call.id}
        try:
            if call.sent < call.n:
                self._writer.write(call.rows(call.sent, call.n), done)
                return
        except MemoryError as error:
            self._send_singly(call, call.n, error)
        self._writer.write(done)

    def send_ready(self, call, ready):
        """Sends the finished rows that were not sent; the lock is held."""
        if ready > call.sent:
            try:
                self._writer.write(call.rows(call.sent, ready))
            except MemoryError as error:
                self._send_singly(call, ready, error)
            call.sent = ready
            call.sent_at = time.monotonic()

    def name(self, call, row, step=None, function=None):
        """Reports to the engine which row, step and function run, once; the lock is held."""
        if call.named != (row, step, function):
            self._writer.write({"t": "at", "call": call.id, "row": row, "step": step, "function": function})
            call.named = (row, step, function)

    def write(self, frame):
        """Writes a small frame; the lock is held."""
        self._writer.write(frame)

    def _send_singly(self, call, ready, error):
        """Some result is too large to be packed. The others are still sent; that one gets an error."""
        for row in range(call.sent, ready):
            try:
                self._writer.write(call.rows(row, row + 1))
            except MemoryError:
                call.fail(row, worker_error("worker", error, self._root))
                self._writer.write(call.rows(row, row + 1))
