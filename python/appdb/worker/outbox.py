"""What a worker writes: one frame after the other, whichever thread it comes from."""

import _thread
import time

from appdb.worker.failures import worker_error

TICK = 0.005  # a row that runs longer is named to the engine


class Outbox:
    """Writes frames under a lock. `lock` is held by whoever writes, and while the rows of a call are looked at."""

    def __init__(self, writer, project_root):
        self.lock = _thread.allocate_lock()
        self._writer = writer
        self._root = project_root

    def send(self, *frames):
        """Writes frames. Raises MemoryError before anything of them was written."""
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
        """Sends the rows that are ready and were not sent; the lock is held."""
        if ready > call.sent:
            try:
                self._writer.write(call.rows(call.sent, ready))
            except MemoryError as error:
                self._send_singly(call, ready, error)
            call.sent = ready
            call.sent_at = time.monotonic()

    def name(self, call, row):
        """Tells the engine which row runs, once; the lock is held."""
        if call.named != row:
            self._writer.write({"t": "at", "call": call.id, "row": row})
            call.named = row

    def write(self, frame):
        """Writes a small frame; the lock is held."""
        self._writer.write(frame)

    def _send_singly(self, call, ready, error):
        """Some result is too large to be packed: the others still go, that one is answered by an error."""
        for row in range(call.sent, ready):
            try:
                self._writer.write(call.rows(row, row + 1))
            except MemoryError:
                call.fail(row, worker_error("worker", error, self._root))
                self._writer.write(call.rows(row, row + 1))
