"""Calls that are awaited: async functions, functions in a resource pool, queries. In the event loop's thread."""

import asyncio
from functools import partial
from time import monotonic

from appdb.worker.calling import CellError
from appdb.worker.failures import TooLate
from appdb.worker.providers import LONGEST_PAUSE_S, turned_away

# An async call that continues for this long after its cancellation cannot be stopped.
_GRACE_S = 1.0
# Threads for non-async functions that wait for a provider.
_THREADS = 64
_THREAD_STACK = 1 << 20


class QueryFailed(Exception):
    """A query of the application that failed."""


class Awaiting:
    """Runs calls within their limits: time, and those of their pool, which the engine counts across workers."""

    def __init__(self, loop, send, to_main, limit_s):
        self._loop = loop
        self._send = send
        self._to_main = to_main
        self._limit_s = limit_s
        self._asks = {}
        self._last_ask = 0
        self._threads = None
        self.present = None  # The current user code in the loop's thread: (call, row), function, limit, start time.

    async def run(self, call, args, kwargs, key, rows=1):
        """Runs a function when its pool allows it, and retries after a provider's refusal. Raises CellError."""
        overload = call.overload
        if overload.resource_pool is None:
            return await self._once(call, args, kwargs, key, rows)
        from appdb.declare.pools import ResourcePool

        pool = ResourcePool.declared.get(overload.resource_pool)
        retries = 0 if pool is None else pool.retries
        attempt, pause = 0, None
        while True:
            ask, granted = self._ask()
            self._send(
                {"t": "acquire", "ask": ask, "pool": overload.resource_pool, "attempt": attempt, "retry_after_s": pause}
            )
            await granted
            try:
                return await self._once(call, args, kwargs, key, rows)
            except CellError as error:
                pause = None if isinstance(error.cause, TooLate) else turned_away(error.cause)
                if pause is None or pause > LONGEST_PAUSE_S or attempt >= retries:
                    raise
                call.counts.retries += 1
                attempt, pause = attempt + 1, pause or None
            finally:
                self._send({"t": "release", "ask": ask})

    async def query(self, name, args, types):
        """Requests a query's result from the engine. Raises CellError on failure."""
        ask, answered = self._ask()
        self._send({"t": "query", "ask": ask, "query": name, "args": args, "types": types})
        value, error = await answered
        if error is not None:
            raise CellError(name, QueryFailed(error["message"]))
        return value

    def answer(self, ask, value=None, error=None):
        """Takes the engine's `grant` or `answer`."""
        waiting = self._asks.pop(ask, None)
        if waiting is not None and not waiting.done():
            waiting.set_result((value, error))

    def _ask(self):
        self._last_ask += 1
        waiting = self._asks[self._last_ask] = self._loop.create_future()
        return self._last_ask, waiting

    async def _once(self, call, args, kwargs, key, rows):
        counts = call.counts
        counts.calls += 1
        counts.rows += rows
        counts.running += 1
        began = monotonic()
        try:
            return await self._limited(call, args, kwargs, key)
        except BaseException as error:
            counts.errors += 1
            raise CellError(call.id, error) from error
        finally:
            counts.running -= 1
            counts.seconds += monotonic() - began

    async def _limited(self, call, args, kwargs, key):
        overload = call.overload
        limit = overload.timeout_s or self._limit_s
        if not overload.is_async:
            if overload.resource_pool is None:
                return await self._in_main(call, args, kwargs, key, limit)
            return await self._in_thread(call, args, kwargs, key, limit)
        task, late = asyncio.current_task(), []
        handle = self._loop.call_later(limit, self._cancel, task, late, call, key, limit)
        try:
            result = await Driven(call.function(*args, **kwargs), self, (key, call.id, limit))
        except BaseException as error:
            if not late:
                raise
            result = error
        finally:
            handle.cancel()
            for timer in late:
                timer.cancel()
        if late:
            task.uncancel()
            raise TooLate(f"ran longer than {limit:g} s")
        return result

    def _cancel(self, task, late, call, key, limit):
        late.append(self._loop.call_later(_GRACE_S, self._overdue, call, key, limit))
        task.cancel()

    def _overdue(self, call, key, limit):
        self.tell_overdue(key, call.id, limit)

    def tell_overdue(self, key, function, limit):
        """Asks the engine to end the worker: a call cannot be stopped."""
        of, row = key if key is not None else (None, 0)
        self._send({"t": "overdue", "call": of, "row": row, "function": function, "timeout_s": limit})

    async def _in_main(self, call, args, kwargs, key, limit):
        done = self._loop.create_future()
        self._to_main(key, (call.id, limit), partial(self._work, call, args, kwargs, done))
        return _unwrapped(await done)

    async def _in_thread(self, call, args, kwargs, key, limit):
        done = self._loop.create_future()
        handle = self._loop.call_later(limit, self._overdue, call, key, limit)
        try:
            self._submit(self._work, call, args, kwargs, done)
            return _unwrapped(await done)
        finally:
            handle.cancel()

    def _work(self, call, args, kwargs, done):
        try:
            outcome = call.function(*args, **kwargs), None
        except BaseException as error:  # SystemExit and KeyboardInterrupt belong to this row.
            outcome = None, error
        self._loop.call_soon_threadsafe(_resolve, done, outcome)

    def _submit(self, work, *args):
        import threading

        if self._threads is None:
            from concurrent.futures import ThreadPoolExecutor

            self._threads = ThreadPoolExecutor(_THREADS, "function")
        before = threading.stack_size(_THREAD_STACK)  # The worker's memory limit counts stacks.
        try:
            self._threads.submit(work, *args)
        finally:
            threading.stack_size(before)


class Driven:
    """A coroutine that records when it runs, so that one that blocks the loop too long can be named."""

    def __init__(self, awaitable, awaiting, what):
        self._awaitable = awaitable
        self._awaiting = awaiting
        self._what = what

    def __await__(self):
        inner = self._awaitable
        if not hasattr(inner, "send"):
            return (yield from inner.__await__())
        awaiting, what, error = self._awaiting, self._what, None
        while True:
            awaiting.present = (*what, monotonic())
            try:
                waited_for = inner.send(None) if error is None else inner.throw(error)
            except StopIteration as stop:
                return stop.value
            finally:
                awaiting.present = None
            try:
                yield waited_for
                error = None
            except GeneratorExit:
                inner.close()
                raise
            except BaseException as thrown:
                error = thrown


def _resolve(done, outcome):
    if not done.done():
        done.set_result(outcome)


def _unwrapped(outcome):
    result, error = outcome
    if error is not None:
        raise error
    return result
