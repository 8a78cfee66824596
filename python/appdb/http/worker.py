"""A worker that answers HTTP requests: handlers of routers, or the application object of the file.

The main thread runs the event loop, one thread reads frames, one checks time limits, and a few run plain functions.
Requests finish in any order.
"""

import asyncio
import threading
import traceback
from time import monotonic, sleep

from appdb._streams import give_up
from appdb.http.answers import BadAnswer, answer_of, failure_of
from appdb.http.calls import REQUEST_ID, Call
from appdb.http.types import Request
from appdb.worker.asking import present_call
from appdb.worker.outbox import Outbox
from appdb.worker.threads import Threads

_THREADS = 32
_TICK_S = 0.05
_BEAT_S = 1.0
_GRACE_S = 1.0


class HttpWorker:
    """Serves `http` frames until the input ends. `current` is the worker of this process."""

    current = None

    def __init__(self, writer, project_root, limit_s):
        self.root = project_root
        self.loop = asyncio.new_event_loop()
        self.threads = Threads(_THREADS, "handler")
        self.app = None
        self.app_name = None
        self.body_bytes = None  # For a router's route in the application.
        self.state = {}
        self._is_over = False
        self._lifespan = None
        self._asks = {}
        self._last_ask = 0
        HttpWorker.current = self
        self.present = None  # The current work of the loop's thread: call, function, limit, start time.
        self._limit_s = limit_s
        self._outbox = Outbox(writer, project_root)
        self._calls = {}
        self._busy = threading.Event()
        self._held = set()
        self._tick_at = None

    def open_application(self, wanted):
        """Loads the application object and starts its lifespan. Raises its errors."""
        from appdb.http.lifespan import Lifespan
        from appdb.routes.applications import load_application

        asyncio.set_event_loop(self.loop)
        self.app, self.app_name = load_application(wanted), wanted["id"]
        self._lifespan = Lifespan(self.app, self.state)
        self.loop.run_until_complete(self._lifespan.startup())

    def listen(self, reader):
        """Starts reading frames: the application object may request rows while it starts."""
        threading.Thread(target=self._read, args=(reader,), name="frames", daemon=True).start()

    def serve(self):
        """Runs the event loop; returns when the engine requests the end or has died."""
        asyncio.set_event_loop(self.loop)
        threading.Thread(target=self._watch, name="watch", daemon=True).start()
        while not self._is_over:
            try:
                self.loop.run_forever()
            except BaseException:  # SystemExit in a task that a handler left behind does not end the worker.
                continue

    def send(self, frame):
        """Writes a frame; from any thread."""
        self._outbox.send(frame)

    def end(self, call, *frames):
        """Ends a call with its last frames, once; later frames are dropped."""
        with self._outbox.lock:
            if call.has_ended:
                return
            for frame in frames:
                self._outbox.write(frame)
            call.has_ended = True
        running = call.thread
        if running is None or running[0] == threading.get_ident():
            self._calls.pop(call.id, None)  # Otherwise _look_at_thread does this later.

    def tell_held(self, call, function, limit, is_loop):
        """Requests another worker from the engine: a call cannot be stopped."""
        self.send({"t": "http_held", "call": call, "function": function, "timeout_s": limit, "is_loop": is_loop})

    def _read(self, reader):
        try:
            while (frame := reader.read()) is not None and frame["t"] != "exit":
                self._take(frame)
        except BaseException:  # No memory for a frame or a thread.
            give_up("requests can no longer be read")
        self.loop.call_soon_threadsafe(self._stop)

    def _take(self, frame):
        kind = frame["t"]
        if kind == "http":
            self._begin(frame)
        elif kind == "answer" or kind == "route_answer":
            self.loop.call_soon_threadsafe(self._answered, frame)
        else:
            call = self._calls.get(frame["call"])
            if call is not None:
                self.loop.call_soon_threadsafe(call.take, frame)

    def _stop(self):
        self._ending = self.loop.create_task(self._shut_down())

    async def _shut_down(self):
        # Calls without a client clean up after themselves.
        left = [call.task for call in list(self._calls.values()) if call.is_gone and call.task is not None]
        if left:
            await asyncio.wait(left, timeout=_GRACE_S)
        try:
            if self._lifespan is not None:
                await self._lifespan.shutdown()
        finally:
            self._is_over = True
            self.loop.stop()

    async def ask(self, frame):
        """Sends a request frame to the engine and returns its answer; in the loop's thread."""
        self._last_ask += 1
        waiting = self._asks[self._last_ask] = self.loop.create_future()
        self.send({**frame, "ask": self._last_ask})
        return await waiting

    def _answered(self, frame):
        waiting = self._asks.pop(frame["ask"], None)
        if waiting is not None and not waiting.done():
            waiting.set_result(frame)

    async def ask_route(self, route, scope, body):
        """Runs a request on a route that the engine compiled: (status, headers, body)."""
        call = present_call.get(None)  # Its client may disconnect.
        of = {"call": None, "caller": None} if call is None else {"call": call.id, "caller": call.caller}
        frame = await self.ask({"t": "route", "route": route, "request": head_of(scope), "data": body, **of})
        return frame["status"], frame["headers"], frame["data"]

    async def answer_inside(self, route, scope, body):
        """Answers a request with a router's handler inside the application object: (status, headers, body)."""
        request = Request(head_of(scope), body, route.is_async)
        try:
            if route.is_async:
                value = await route.call(request)
            else:
                value = await asyncio.to_thread(route.call, request)
            answer = answer_of(value, route.status, route.adapter)
            if type(answer.body) is not bytes:
                raise BadAnswer("it yields, which a router inside an application object cannot pass on")
            return answer.status, answer.headers, answer.body
        except Exception as error:
            failure, is_logged = failure_of(error, route.id, self.root)
            if is_logged:
                traceback.print_exception(error)  # Goes to the service's log.
        return await self._ask_problem(failure, request.id)

    async def refuse_body(self, scope):
        """The response to a body above a route's limit: (status, headers, body)."""
        failure = {
            **{"code": "payload_too_large", "status": None, "headers": [], "errors": None},
            "detail": f"The body is larger than {self.body_bytes} bytes.",
            "hint": "Send a smaller body.",
            "meta": {"body_bytes": self.body_bytes},
        }
        return await self._ask_problem(failure, head_of(scope)["id"])

    async def _ask_problem(self, failure, request_id):
        frame = await self.ask({"t": "problem", "failure": failure, "id": request_id})
        return frame["status"], frame["headers"], frame["data"]

    def _begin(self, frame):
        from appdb.routes.handler import route_of

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
        """Reports when the loop's thread does not return to the loop."""
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


def head_of(scope):
    """A request's head in protocol form, from the scope of an application object."""
    root_path = scope.get("root_path", "")
    path = scope.get("raw_path", b"").decode("latin-1") or scope["path"]
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    return {
        "method": scope["method"],
        "scheme": scope["scheme"],
        "path": path.removeprefix(root_path) or "/",
        "root_path": root_path,
        "search": scope["query_string"].decode("latin-1"),
        "headers": headers,
        "params": {name: str(value) for name, value in scope.get("path_params", {}).items()},
        "client": None if scope.get("client") is None else list(scope["client"]),
        "id": scope.get("extensions", {}).get(REQUEST_ID, {"id": "inside"})["id"],
    }
