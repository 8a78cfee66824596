"""The lifespan of an application object: its startup before the first request, its shutdown after the last."""

import asyncio


class LifespanFailed(Exception):
    """The application object reported a failed startup."""


class Lifespan:
    """Runs an application's lifespan in the event loop. An application without one is skipped."""

    def __init__(self, app, state):
        self._app = app
        self._state = state
        self._events = asyncio.Queue()
        self._task = None
        self._started = self._stopped = None

    async def startup(self):
        """Returns when the application is ready. Raises LifespanFailed, or the application's error."""
        loop = asyncio.get_running_loop()
        self._started, self._stopped = loop.create_future(), loop.create_future()
        self._events.put_nowait({"type": "lifespan.startup"})
        self._task = loop.create_task(self._run())
        await asyncio.wait([self._task, self._started], return_when=asyncio.FIRST_COMPLETED)
        if self._started.done():
            message = self._started.result()
            if message is not None:
                import sys

                sys.stderr.write(message + "\n")  # Starlette's message is a whole traceback.
                raise LifespanFailed((message.strip().splitlines() or ["its startup failed"])[-1])

    async def shutdown(self):
        """Returns when the application has shut down."""
        if self._task is None or self._task.done():
            return
        self._events.put_nowait({"type": "lifespan.shutdown"})
        await asyncio.wait([self._task, self._stopped], return_when=asyncio.FIRST_COMPLETED)

    async def _run(self):
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self._state}
        try:
            await self._app(scope, self._events.get, self._send)
        except Exception:
            # Before its startup: it does not support lifespan, which is allowed.
            if self._started.done() and self._started.result() is None:
                import traceback

                traceback.print_exc()  # Goes to the service's log.

    async def _send(self, event):
        kind = event["type"]
        if kind.startswith("lifespan.startup.") and not self._started.done():
            self._started.set_result(None if kind.endswith("complete") else event.get("message", ""))
        elif kind.startswith("lifespan.shutdown.") and not self._stopped.done():
            self._stopped.set_result(None)
