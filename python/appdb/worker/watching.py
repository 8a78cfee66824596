"""The worker's second thread: it sends finished results, names slow rows, and reports exceeded limits."""

import _thread
import time

from appdb.worker.calling import Limited
from appdb.worker.outbox import TICK

_FLUSH = 0.02  # Maximum delay of results.
_SLOW_TICK = 0.05  # While only async calls are in progress.
_IDLE_S = 0.2  # After that time this thread sleeps until the next call.
_HELD_S = 0.3  # This thread wakes more often if the interpreter is free.
_BEAT = 1.0  # Interval of the reports that the interpreter runs, with the counts of functions.


class Watch:
    """Wakes every few milliseconds while something runs. `call` is the running plain call. `step` is a plain function
    of a concurrent row: (key, (function, limit) or None, start time). `flow` has the concurrent rows."""

    def __init__(self, outbox, counts, limit_s):
        self.step = None
        self.flow = None
        self._call = None
        self._outbox = outbox
        self._counts = counts
        self._limit_s = limit_s
        self._told = {}
        self._beat_at = 0.0
        self._named = None
        self._overdue = None
        self._turn = None  # A request to the event loop: (when, list that it empties).
        self._looked_at = 0.0
        self._parked = False
        self._wake = _thread.allocate_lock()
        self._wake.acquire()
        _thread.start_new_thread(self._run, ())

    def begin(self, call):
        """Takes the call that starts."""
        with self._outbox.lock:
            self._call = call
            self._rouse()

    def end(self, call):
        """Sends the rest of a call."""
        with self._outbox.lock:
            self._call = None
            self._outbox.finish(call)

    def rouse(self):
        """Wakes the thread if it sleeps."""
        with self._outbox.lock:
            self._rouse()

    def _rouse(self):
        if self._parked:
            self._parked = False
            self._wake.release()

    def _run(self):
        seen, seen_at, idle_at = None, 0.0, time.monotonic()
        while True:
            is_quick = self._call is not None or self.step is not None or not self._has_rows()
            time.sleep(TICK if is_quick else _SLOW_TICK)
            with self._outbox.lock:
                call, now = self._call, time.monotonic()
                if call is not None:
                    seen, seen_at = self._look(call, seen, seen_at)
                self._look_at_limits(call, now)
                if now - self._beat_at >= _BEAT:
                    self._beat(now)
                if call is not None or self.step is not None or self._has_rows():
                    idle_at = now
                    continue
                if now - idle_at < _IDLE_S:
                    continue
                self._beat(now)
                self._parked = True
            self._wake.acquire()
            seen, idle_at = None, time.monotonic()

    def _has_rows(self):
        return self.flow is not None and self.flow.rows > 0

    def _look(self, call, seen, seen_at):
        """Sends finished results and detects slow rows. Returns which row ran, and when; the lock is held."""
        row, now = call.row, time.monotonic()
        is_same_call = seen is not None and seen[0] == call.id
        if is_same_call and (now - seen_at) / max(1, row - seen[1]) >= TICK:
            call.is_slow = True
        # Read again after `is_slow` was set: later rows name themselves.
        is_same_row = is_same_call and call.row == row == seen[1]
        if is_same_row or now - call.sent_at >= _FLUSH:
            self._outbox.send_ready(call, row)
        if is_same_row:
            running = (name for name, counts in list(self._counts.items()) if counts.running and call.runs(name))
            self._outbox.name(call, row, call.step, next(running, None))
        return (call.id, row), now

    def _look_at_limits(self, call, now):
        """Names a slow plain function of a concurrent row, and reports exceeded limits."""
        step, limited = self.step, Limited.now
        if step is not None and step[0] is not None and now - step[2] >= TICK and self._named is not step:
            self._named = step
            self._outbox.write({"t": "at", "call": step[0][0], "row": step[0][1], "step": None, "function": None})
        if limited is not None and now - limited[2] > limited[1]:
            key = (call.id, call.row) if call is not None else step[0] if step is not None else None
            self._tell(limited, key, limited[0], limited[1])
        elif step is not None:
            function, limit = step[1] or ("worker", self._limit_s)
            if now - step[2] > limit:
                self._tell(step, step[0], function, limit)
        present = self.flow.awaiting.present if self.flow is not None else None
        if present is not None and now - present[3] > present[2]:
            self._tell(present, present[0], present[1], present[2])
        elif present is None and self.flow is not None:
            self._look_at_loop(now)

    def _look_at_loop(self, now):
        """Reports an event loop that is blocked for longer than a call may run, although no row's call blocks it. The
        cause is a task or callback that a function left behind."""
        # This thread did not run either, so something blocked the interpreter, and the loop could not run.
        was_held = now - self._looked_at > _HELD_S
        self._looked_at = now
        turn = self._turn
        if was_held or not self._has_rows():
            self._turn = None
        elif turn is None or not turn[1]:
            if turn is None or now - turn[0] >= _BEAT:
                asked = [True]
                self._turn = (now, asked)
                self.flow.loop.call_soon_threadsafe(asked.clear)
        elif now - turn[0] > self._limit_s:
            self._tell(turn, None, "worker", self._limit_s)

    def _tell(self, what, key, function, limit):
        if self._overdue is what:
            return
        self._overdue = what
        call, row = key if key is not None else (None, 0)
        self._outbox.write({"t": "overdue", "call": call, "row": row, "function": function, "timeout_s": limit})

    def _beat(self, now):
        """Reports the counts of active functions; while rows run, also without news."""
        functions = {}
        for name, counts in list(self._counts.items()):
            added = counts.since(self._told.setdefault(name, {}))
            if any(added.values()) or self._told[name].get("running"):
                functions[name] = added
            self._told[name]["running"] = added["running"]
        if functions or self._has_rows():
            self._outbox.write({"t": "beat", "functions": functions})
        self._beat_at = now
