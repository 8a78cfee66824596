"""Rows of concurrent graphs: each proceeds as far as possible, waits for its calls, and is sent when all its steps are
done.

All of this runs in the event loop's thread. Plain functions among the steps run in the process's main thread
(worker/running.py). Non-async functions in a resource pool run in separate threads.
"""

import asyncio
import threading
import traceback

from appdb.worker.awaiting import Awaiting
from appdb.worker.batching import Batches, checked, together
from appdb.worker.calling import CellError, counted
from appdb.worker.concurrent import BATCH, CALL, INLINE, MAIN
from appdb.worker.failures import worker_error

_WAITING, _BEGUN, _DONE = 0, 1, 2


class Flow:
    """The rows in progress. `send(*frames)` writes; `to_main(key, limit, work)` runs `work()` in the main thread."""

    def __init__(self, send, to_main, root, limit_s):
        self.loop = asyncio.new_event_loop()
        # One thread alone counts each, even if the loop is blocked.
        self._taken = 0
        self._sent = 0
        self._send = send
        self._to_main = to_main
        self._root = root
        self._tasks = set()
        self.awaiting = Awaiting(self.loop, send, to_main, limit_s)
        self._batches = Batches(self.loop, self.awaiting, self._settle, self._spawn)
        threading.Thread(target=self._serve, name="calls", daemon=True).start()

    @property
    def rows(self):
        """Number of rows in progress, including those that the loop has not seen yet."""
        return self._taken - self._sent

    def run(self, frame, graph):
        """Starts the rows of a `run` frame; called from another thread."""
        self._taken += frame["n"]
        self.loop.call_soon_threadsafe(self._begin_call, frame, graph)

    def answer(self, frame):
        """Takes a `grant` or `answer` frame; called from another thread."""
        self.loop.call_soon_threadsafe(self.awaiting.answer, frame["ask"], frame.get("value"), frame.get("error"))

    def call(self, call, args, kwargs):
        """Runs a concurrent function and waits for it; called from the main thread. Raises CellError."""
        overload = call.overload
        if overload.batch_size is not None:
            args, kwargs = together(call, [(args, kwargs)])
        if overload.is_async or overload.resource_pool is not None:
            running = asyncio.run_coroutine_threadsafe(self.awaiting.run(call, args, kwargs, None), self.loop)
            result = running.result()
        else:
            result = counted(call)(*args, **kwargs)
        return result if overload.batch_size is None else checked(call, result, 1)[0]

    def query(self, name, args, types):
        """Requests a query and waits for its result; called from the main thread. Raises CellError."""
        return asyncio.run_coroutine_threadsafe(self.awaiting.query(name, args, types), self.loop).result()

    def _serve(self):
        asyncio.set_event_loop(self.loop)
        while True:
            try:
                self.loop.run_forever()
            except BaseException:  # SystemExit in a task that a function left behind does not end the worker.
                continue

    def _begin_call(self, frame, graph):
        columns = frame["columns"]
        for place, read in graph.readers:
            columns[place] = [read(v) if type(v) is int else v for v in columns[place]]
        call = _Call(frame, graph)
        empty = [None] * len(graph.steps)
        for number, values in enumerate(zip(*columns) if columns else [()] * frame["n"]):
            self._advance(_Row(call, number, [*values, *empty]))

    def _advance(self, row):
        """Continues a row. An internal error here still answers the row, which would otherwise wait forever."""
        try:
            self._begin_ready(row)
        except BaseException as error:
            traceback.print_exc()  # Goes to the log of the worker's parent.
            told = worker_error("worker", error, self._root)
            for step in row.call.graph.steps:
                if row.state[step.at] != _DONE:
                    self._set(row, step, None, told)
        if row.left == 0:
            self._ready(row)

    def _begin_ready(self, row):
        """Starts all steps that can run; results of quick ones are available to the next."""
        state = row.state
        for step in row.call.graph.steps:
            if state[step.at] == _WAITING and all(state[at] == _DONE for at in step.needs):
                state[step.at] = _BEGUN
                self._begin(row, step)

    def _begin(self, row, step):
        if step.when is not None and row.errors.keys().isdisjoint(step.when_reads) and step.when(row.values) is not True:
            self._set(row, step, None, None)
            return
        if row.errors:
            for at in (*step.when_reads, *step.reads):
                if at in row.errors:
                    row.causes.update(row.call.graph.cause(step, at, row.causes))
                    self._set(row, step, None, row.call.graph.passed_on(at, row.errors[at]))
                    return
        values = row.values
        if step.watching is not None:
            names = row.call.graph.steps
            values = step.watching(values, {names[at].name: error for at, error in row.errors.items()}, row.causes)
        if step.kind is INLINE:
            try:
                self._set(row, step, step.run(values), None)
            except BaseException as error:
                self._set(row, step, None, self._failure(step, error))
        elif step.kind is MAIN:
            self._to_main((row.call.id, row.number), None, lambda: self._run_in_main(row, step, values))
        elif step.kind is BATCH:
            try:
                arguments = step.run.arguments(values)
            except BaseException as error:
                self._set(row, step, None, self._failure(step, error))
                return
            if arguments is None:
                self._set(row, step, None, None)
            else:
                self._batches.add(row, step, arguments)
        else:
            self._spawn(self._wait(row, step, values))

    def _run_in_main(self, row, step, values):
        value, failed = None, None
        try:
            value = step.run(values)
        except BaseException as error:
            failed = error
        self.loop.call_soon_threadsafe(self._settle, row, step, value, failed)

    async def _wait(self, row, step, values):
        value, failed = None, None
        try:
            if step.kind is CALL:
                arguments = step.run.arguments(values)
                if arguments is not None:
                    value = step.run.finish(await self.awaiting.run(step.run, *arguments, (row.call.id, row.number)))
            else:
                value = await self.awaiting.query(*step.run(values))
        except BaseException as error:
            failed = error
        self._settle(row, step, value, failed)

    def _spawn(self, coroutine):
        task = self.loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _settle(self, row, step, value, failed):
        self._set(row, step, value, None if failed is None else self._failure(step, failed))
        self._advance(row)

    def _set(self, row, step, value, error):
        if row.state[step.at] == _DONE:  # Given up meanwhile.
            return
        row.values[step.place] = value
        if error is not None:
            row.errors[step.at] = error
        row.state[step.at] = _DONE
        row.left -= 1

    def _failure(self, step, error):
        if isinstance(error, CellError):
            return worker_error(error.function, error.cause, self._root)
        return worker_error(step.name, error, self._root)

    def _ready(self, row):
        row.left = -1
        call = row.call
        if not call.ready:
            self.loop.call_soon(self._flush, call)
        call.ready.append(row)

    def _flush(self, call):
        """Sends the rows of a call that finished in this turn of the loop."""
        rows, call.ready = call.ready, []
        call.left -= len(rows)
        self._sent += len(rows)
        done = ({"t": "done", "call": call.id},) if call.left == 0 else ()
        try:
            self._send(_frame(call, rows), *done)
            return
        except MemoryError as error:
            too_large = error
        # Some result is too large to be packed. The others are still sent; that one gets an error.
        for row in rows:
            try:
                self._send(_frame(call, [row]))
            except MemoryError:
                told = worker_error("worker", too_large, self._root)
                for step in call.graph.visible:
                    row.values[step.place] = None
                    row.errors[step.at] = told
                self._send(_frame(call, [row]))
        self._send(*done)


class _Call:
    """The rows of one `run` frame: the number of unsent ones, and the finished ones."""

    __slots__ = ("id", "graph", "left", "ready")

    def __init__(self, frame, graph):
        self.id = frame["call"]
        self.graph = graph
        self.left = frame["n"]
        self.ready = []


class _Row:
    """Values of the inputs and finished steps; errors by step; the name of the column that failed first."""

    __slots__ = ("call", "number", "values", "state", "errors", "causes", "left")

    def __init__(self, call, number, values):
        self.call = call
        self.number = number
        self.values = values
        self.state = bytearray(len(call.graph.steps))
        self.errors = {}
        self.causes = {}
        self.left = len(call.graph.steps)


def _frame(call, rows):
    visible = call.graph.visible
    errors = None
    if any(row.errors for row in rows):
        errors = [{step.name: row.errors[step.at] for step in visible if step.at in row.errors} or None for row in rows]
    return {
        "t": "rows",
        "call": call.id,
        "rows": [row.number for row in rows],
        "columns": [[row.values[step.place] for row in rows] for step in visible],
        "errors": errors,
    }
