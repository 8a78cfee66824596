"""One HTTP request in the worker: its incoming body, its handler, and its outgoing response."""

import asyncio
import contextvars
import threading
import traceback
from time import monotonic

from appdb._streams import give_up
from appdb.http.answers import BadAnswer, answer_of, checked_headers, failure_of, media_of, piece_of, too_late
from appdb.http.types import Request
from appdb.worker.asking import present_call
from appdb.worker.awaiting import Driven

WINDOW = 1 << 20  # HTTP_WINDOW_BYTES of the protocol.
REQUEST_ID = "appdb.request"  # The key of the service's request id in an application object's scope.
_PIECE = 1 << 18
_GRACE_S = 1.0  # A call that continues for this long after its cancellation cannot be stopped.
_END = object()


class Call:
    """A running request. Plain functions run in a thread of the pool, everything else in the event loop's thread."""

    def __init__(self, worker, frame, route):
        self.id = frame["call"]
        self.head = frame["request"]
        self.caller = frame["caller"]  # The key of the request, for the engine.
        self.limit = frame["timeout_s"]
        self.route = route  # The HandlerRoute that answers, or None: the application object.
        self.name = route.id if route is not None else worker.app_name
        self.is_gone = False
        self.has_started = False
        self.has_ended = False  # Written with the worker's lock held.
        self.thread = None  # (its ident, start time) while a plain function runs.
        self.is_late = False
        self._worker = worker
        self.task = None  # Set in the event loop when it runs there.
        self._late = None
        self._body = [frame["data"]] if frame["data"] else []
        self._more = frame["more"]
        self._has_received = False
        self._pending = None  # Status and headers from an application, before the first part of the body.
        self._wake = None
        self._in_pool = None  # The work of a pool thread for a call of the event loop.
        self._sent = self._taken = 0

    def run_plain(self):
        """Answers with a plain function; called in a pool thread, with the whole body."""
        if self.is_gone:
            self._worker.end(self)
            return
        self.thread = threading.get_ident(), monotonic()
        present_call.set(self)
        try:
            value = self.route.call(self._request())
            answer = None if _is_asgi(value) else answer_of(value, self.route.status, self.route.adapter)
        except BaseException as error:  # SystemExit belongs to this request.
            self.fail(error)
            return
        finally:
            self.thread = None
            present_call.set(None)
        if answer is None:
            self._worker.loop.call_soon_threadsafe(self._begin, value(self.scope(None), self.receive, self.send))
        elif type(answer.body) is bytes:
            self._send_whole(answer)
        else:
            self._worker.loop.call_soon_threadsafe(self._begin, self._stream(answer))

    def begin(self):
        """Answers in the event loop; called in its thread."""
        self._begin(self._answer() if self.route is not None else self._run_app())

    def take(self, frame):
        """Takes a frame of this call; called in the loop's thread."""
        kind = frame["t"]
        if kind == "http_body":
            if frame["data"]:
                self._body.append(frame["data"])
                if self.route is not None:  # A handler gets it whole.
                    self._tell_taken(len(frame["data"]))
            self._more = frame["more"]
        elif kind == "http_taken":
            self._taken += frame["bytes"]
        else:
            self.is_gone = True
            if self.task is not None and self.route is not None:
                self.task.cancel()
            elif self.task is not None:  # The application is notified and gets some time.
                self._worker.loop.call_later(self.limit, self.task.cancel)
        if self._wake is not None:
            self._wake.set()

    def fail(self, error):
        """Reports to the engine that the response is missing or broke off."""
        try:
            failure, is_logged = failure_of(error, self.name, self._worker.root)
            # A framework sends 500 itself before it re-raises the application's exception.
            if is_logged and (self.route is None or not self.has_ended):
                traceback.print_exception(error)  # Goes to the service's log.
            self._worker.end(self, {"t": "http_failed", "call": self.id, "failure": failure})
        except BaseException:
            give_up("a failure could not be reported")

    def fail_late(self):
        """Reports to the engine that the call exceeded its limit."""
        self._worker.end(self, {"t": "http_failed", "call": self.id, "failure": too_late(self.name, self.limit)})

    def _request(self):
        return Request(self.head, b"".join(self._body), self.route.is_async)

    def _begin(self, coroutine):
        self._wake = asyncio.Event()
        self.task = self._worker.loop.create_task(self._guarded(coroutine))
        self._late = self._worker.loop.call_later(self.limit, self._cancel)

    async def _guarded(self, coroutine):
        present_call.set(self)
        try:
            await Driven(coroutine, self._worker, (self.id, self.name, self.limit))
        except BaseException as error:
            if self.is_late:
                self.fail_late()
            elif self.is_gone:
                self._worker.end(self)
            else:
                self.fail(error)
        finally:
            self._late.cancel()

    def _cancel(self):
        if not self.has_started and not self.has_ended:
            self.is_late = True
            self.task.cancel()
            self._worker.loop.call_later(_GRACE_S, self._look_again)

    def _look_again(self):
        if not self.task.done():
            self.fail_late()
            self._worker.tell_held(self.id, self.name, self.limit, False)

    async def _answer(self):
        """Answers with a handler: its whole body first, then its result."""
        if self._more:
            self._tell_taken(sum(map(len, self._body)))
        while self._more:
            self._wake.clear()
            await self._wake.wait()
        request = self._request()
        if not self.route.is_async:
            value = await self.in_thread(self.route.call, request)
        else:
            value = self.route.call(request)
            if hasattr(value, "__await__"):
                value = await value
        if _is_asgi(value):
            await value(self.scope(None), self.receive, self.send)
            return
        answer = answer_of(value, self.route.status, self.route.adapter)
        if type(answer.body) is bytes:
            self._send_whole(answer)
        else:
            await self._stream(answer)

    async def _run_app(self):
        await self._worker.app(self.scope(self._worker.state), self.receive, self.send)
        if not self.has_started:
            raise BadAnswer("it returned without sending a response")
        if not self.has_ended:
            raise BadAnswer("it returned before its response was complete")

    def _send_whole(self, answer):
        start = {"t": "http_start", "call": self.id, "status": answer.status, "headers": answer.headers}
        try:
            self._worker.end(self, {**start, "data": answer.body, "more": False})
        except MemoryError as error:
            self.fail(error)

    async def _stream(self, answer):
        body = answer.body
        is_async = hasattr(body, "__aiter__")
        items = body.__aiter__() if is_async else iter(body)
        try:
            item = await self._next(items, is_async)
            headers = answer.headers
            if not any(name == "content-type" for name, _ in headers):
                headers = [*headers, ("content-type", media_of(b"" if item is _END else item))]
            await self._start(answer.status, headers)
            while item is not _END and not self.is_gone:
                await self._send_piece(piece_of(item))
                item = await self._next(items, is_async)
            self._worker.end(self, {"t": "http_data", "call": self.id, "data": b"", "more": False})
        finally:
            if self._in_pool is not None:  # It stopped in the middle of a piece, so it must be closed.
                if self.is_gone:
                    self._worker.end(self)
                await self._in_pool
            close = getattr(items, "aclose" if is_async else "close", None)
            if close is not None:
                await (close() if is_async else self.in_thread(close))

    async def _next(self, items, is_async):
        if is_async:
            return await anext(items, _END)
        return await self.in_thread(next, items, _END)

    async def _start(self, status, headers):
        self.has_started = True
        self._late.cancel()
        self._worker.send(
            {"t": "http_start", "call": self.id, "status": status, "headers": headers, "data": b"", "more": True}
        )

    async def _send_piece(self, data):
        for at in range(0, len(data), _PIECE):
            while self._sent - self._taken >= WINDOW and not self.is_gone:
                self._wake.clear()
                await self._wake.wait()
            if self.is_gone:
                return
            piece = data[at : at + _PIECE]
            self._sent += len(piece)
            self._worker.send({"t": "http_data", "call": self.id, "data": piece, "more": True})

    async def in_thread(self, work, *args):
        """Runs a plain function in a pool thread, within the call's time limit."""
        done = self._worker.loop.create_future()
        context = contextvars.copy_context()

        def run():
            self.thread = threading.get_ident(), monotonic()
            try:
                outcome = context.run(work, *args), None
            except BaseException as error:
                # A future cannot hold StopIteration.
                outcome = None, RuntimeError("StopIteration") if isinstance(error, StopIteration) else error
            finally:
                self.thread = None
            self._worker.loop.call_soon_threadsafe(_resolve, done, outcome)

        self._worker.threads.submit(run)
        self._in_pool = done
        # A cancelled caller stops waiting; the thread continues.
        value, error = await asyncio.shield(done)
        self._in_pool = None
        if error is not None:
            raise error
        return value

    # The ASGI interface.

    def scope(self, state):
        """The connection scope of this request."""
        from urllib.parse import unquote

        head = self.head
        path = head["path"]
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": head["method"],
            "scheme": head["scheme"],
            "path": unquote(head["root_path"] + path),
            "raw_path": (head["root_path"] + path).encode("latin-1", "replace"),
            "query_string": head["search"].encode("latin-1", "replace"),
            "root_path": head["root_path"],
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head["headers"]],
            "client": None if head["client"] is None else tuple(head["client"]),
            "server": None,
            "extensions": {REQUEST_ID: {"id": head["id"]}},
            **({} if state is None else {"state": dict(state)}),
        }

    async def receive(self):
        """The next event: a part of the body, or the client's disconnect."""
        while not self.is_gone and not self.has_ended:
            if not self._has_received and (self._body or not self._more):
                data, self._body = b"".join(self._body), []
                self._has_received = not self._more
                if data and self._more:
                    self._tell_taken(len(data))
                return {"type": "http.request", "body": data, "more_body": self._more}
            self._wake.clear()
            await self._wake.wait()
        return {"type": "http.disconnect"}

    async def send(self, event):
        """Takes an event of the answer."""
        kind = event["type"]
        if self.is_gone:
            raise ConnectionResetError("the client has disconnected")
        if self.has_ended:
            return
        if kind == "http.response.start":
            if self._pending is not None or self.has_started:
                raise BadAnswer("it started its response twice")
            self._pending = (_status(event["status"]), checked_headers(event.get("headers", ())))
            return
        if kind != "http.response.body":
            raise BadAnswer(f"it sent {kind!r}, which is not an HTTP event")
        data, more = bytes(event.get("body", b"")), event.get("more_body", False)
        if self._pending is not None:
            status, headers = self._pending
            self._pending = None
            if not more and len(data) < WINDOW:
                self.has_started = True
                frame = {"t": "http_start", "call": self.id, "status": status, "headers": headers}
                self._worker.end(self, {**frame, "data": data, "more": False})
                self._wake.set()
                return
            await self._start(status, headers)
        elif not self.has_started:
            raise BadAnswer("it sent a body before its response started")
        await self._send_piece(data)
        if not more:
            self._worker.end(self, {"t": "http_data", "call": self.id, "data": b"", "more": False})
            self._wake.set()

    def _tell_taken(self, size):
        if size:
            self._worker.send({"t": "http_taken", "call": self.id, "bytes": size})


def _is_asgi(value):
    """Whether a handler returned a Starlette response, which sends itself."""
    return hasattr(value, "raw_headers") and callable(value)


def _status(status):
    if type(status) is not int and not hasattr(status, "__index__") or not 200 <= int(status) <= 599:
        raise BadAnswer(f"its status is {status!r}")
    return int(status)


def _resolve(done, outcome):
    if not done.done():
        done.set_result(outcome)
