"""A worker that answers HTTP requests: handlers of routers, or the application object of the file.

The main thread runs the event loop, one thread reads frames, one watches time limits, and a few run plain functions.
Requests are answered in whatever order they are ready.
"""

import asyncio
import threading
from time import monotonic, sleep

from appdb._http_calls import Call
from appdb._outbox import Outbox
from appdb._threads import Threads

_THREADS = 32
_TICK_S = 0.05
_BEAT_S = 1.0
_GRACE_S = 1.0


class HttpWorker:
    """Serves `http` frames until the input ends."""

    def __init__(self, writer, project_root, limit_s):
        self.root = project_root
        self.loop = asyncio.new_event_loop()
        self.threads = Threads(_THREADS, "handler")
        self.app = None
        self.app_name = None
        self.state = {}
        self.present = None  # what the loop's thread runs now: call, function, limit, since
        self._limit_s = limit_s
        self._outbox = Outbox(writer, project_root)
        self._calls = {}
        self._busy = threading.Event()
        self._held = set()
        self._tick_at = None

    def serve(self, reader):
        """Runs the event loop; returns when the engine asks for the end or is gone."""
        asyncio.set_event_loop(self.loop)
        threading.Thread(target=self._read, args=(reader,), name="frames", daemon=True).start()
        threading.Thread(target=self._watch, name="watch", daemon=True).start()
        self._is_over = False
        while not self._is_over:
            try:
                self.loop.run_forever()
            except BaseException:  # SystemExit in a task that a handler left behind ends no worker
                continue

    def send(self, frame):
        """Writes a frame; from any thread."""
        self._outbox.send(frame)

    def end(self, call, *frames):
        """Ends a call with its last frames, once: what comes later is dropped."""
        with self._outbox.lock:
            if call.has_ended:
                return
            for frame in frames:
                self._outbox.write(frame)
            call.has_ended = True
        running = call.thread
        if running is None or running[0] == threading.get_ident():
            self._calls.pop(call.id, None)  # else _look_at_thread does, when its thread has ended or is given up

    def tell_held(self, call, function, limit, is_loop):
        """Asks the engine for another worker: something here cannot be stopped."""
        self.send({"t": "http_held", "call": call, "function": function, "timeout_s": limit, "is_loop": is_loop})

    def _read(self, reader):
        while (frame := reader.read()) is not None and frame["t"] != "exit":
            if frame["t"] == "http":
                self._begin(frame)
            else:
                call = self._calls.get(frame["call"])
                if call is not None:
                    self.loop.call_soon_threadsafe(call.take, frame)
        self.loop.call_soon_threadsafe(self._stop)

    def _stop(self):
        self._is_over = True
        self.loop.stop()

    def _begin(self, frame):
        from appdb._handler_routes import route_of

        route, missing = None, None
        if frame["handler"] is not None:
            try:
                route = route_of(frame["handler"])
            except Exception as error:
                missing = error
        call = self._calls[frame["call"]] = Call(self, frame, route)
        self._busy.set()
        if missing is not None:
            call.name = frame["handler"]["id"]
            call.fail(missing)
        elif route is not None and not route.is_async and not frame["more"]:
            self.threads.submit(call.run_plain)
        else:
            self.loop.call_soon_threadsafe(call.begin)

    def _watch(self):
        beat_at = 0.0
        while True:
            if not self._calls:
                self._busy.clear()
                if not self._calls:
                    self._tick_at = None
                    self._busy.wait()
            now = monotonic()
            if now - beat_at >= _BEAT_S:
                beat_at = now
                self.send({"t": "beat", "functions": {}})
            for call in list(self._calls.values()):
                self._look_at_thread(call, now)
            self._look_at_loop(now)
            sleep(_TICK_S)

    def _look_at_thread(self, call, now):
        running = call.thread
        if running is None:
            if call.has_ended:
                self._calls.pop(call.id, None)
            return
        thread, since = running
        if now - since > call.limit and (call.has_ended or not call.has_started):
            self._calls.pop(call.id, None)
            call.fail_late()
            self.threads.give_up(thread)
            timer = threading.Timer(_GRACE_S, self._look_again, (call, running))
            timer.daemon = True
            timer.start()

    def _look_again(self, call, running):
        if call.thread == running:
            self.tell_held(call.id, call.name, call.limit, False)

    def _look_at_loop(self, now):
        """Tells when the loop's thread does not come back to the loop."""
        present = self.present
        if present is not None and now - present[3] > present[2]:
            self._tell_loop(*present)
        if self._tick_at is None:
            self._tick_at = now
            self.loop.call_soon_threadsafe(self._ticked)
        elif now - self._tick_at > self._limit_s + _GRACE_S:
            self._tell_loop(None, self.app_name or "a handler", self._limit_s, self._tick_at)

    def _tell_loop(self, call, function, limit, since):
        if since not in self._held:
            self._held.add(since)
            self.tell_held(call, function, limit, True)

    def _ticked(self):
        self._tick_at = None
