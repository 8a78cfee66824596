"""Calls in flight: rows are computed one after the other, results leave as they become ready."""

import _thread
import time

from appdb._failures import worker_error
from appdb._graphs import Graph

_TICK = 0.005  # a row that runs longer is named to the engine
_FLUSH = 0.02  # results wait no longer than this
_IDLE_TICKS = 40  # then the second thread sleeps until the next call


class Runner:
    """Runs graphs over rows. `run` computes; `_watch`, the second thread, sends and names slow rows meanwhile."""

    def __init__(self, writer, project_root):
        self._writer = writer
        self._root = project_root
        self._graphs = {}
        self._lock = _thread.allocate_lock()  # held by whoever writes, and while `_call` changes
        self._wake = _thread.allocate_lock()
        self._wake.acquire()
        self._parked = False
        self._call = None
        _thread.start_new_thread(self._watch, ())

    def define(self, frame):
        """Compiles a graph. One that cannot be compiled answers each of its rows with the reason."""
        try:
            self._graphs[frame["graph"]] = Graph(frame, self._root)
        except Exception as error:
            function = frame["functions"][0]["id"] if frame["functions"] else "graph"
            self._graphs[frame["graph"]] = _Broken(frame, worker_error(function, error, self._root, "import"))

    def run(self, frame):
        """Computes the rows of a call and sends their results and its end."""
        call = _Call(frame, self._graphs[frame["graph"]])
        with self._lock:
            self._call = call
        if self._parked:
            self._parked = False
            self._wake.release()
        call.compute(self._before_row)
        with self._lock:
            self._call = None
            self._finish(call)

    def _finish(self, call):
        done = {"t": "done", "call": call.id}
        try:
            if call.sent < call.n:
                self._writer.write(call.rows(call.sent, call.n), done)
                return
        except MemoryError as error:
            self._send_singly(call, call.n, error)
        self._writer.write(done)

    def _send(self, call, ready):
        """Sends the rows that are ready and were not sent; the lock is held."""
        if ready > call.sent:
            try:
                self._writer.write(call.rows(call.sent, ready))
            except MemoryError as error:
                self._send_singly(call, ready, error)
            call.sent = ready
            call.sent_at = time.monotonic()

    def _send_singly(self, call, ready, error):
        """Some result is too large to be packed: the others still go, that one is answered by an error."""
        for row in range(call.sent, ready):
            try:
                self._writer.write(call.rows(row, row + 1))
            except MemoryError:
                call.fail(row, worker_error("worker", error, self._root))
                self._writer.write(call.rows(row, row + 1))

    def _before_row(self, call, row):
        """Called before each row while rows are slow. Whoever was named is answered before the next row begins: a
        row that then holds the interpreter for ever cannot be mistaken for the one before it."""
        now = time.monotonic()
        with self._lock:
            self._send(call, row)
            if now - call.began_at < _TICK:
                call.is_slow = False
                return
            call.began_at = now
            self._name(call, row)

    def _name(self, call, row):
        if call.named != row:
            self._writer.write({"t": "at", "call": call.id, "row": row})
            call.named = row

    def _watch(self):
        seen, seen_at, idle = None, 0.0, 0
        while True:
            time.sleep(_TICK)
            with self._lock:
                call = self._call
                if call is not None:
                    idle = 0
                    seen, seen_at = self._look(call, seen, seen_at)
                    continue
                idle += 1
                if idle < _IDLE_TICKS:
                    continue
                self._parked = True
            self._wake.acquire()
            seen, idle = None, 0

    def _look(self, call, seen, seen_at):
        """Sends what is ready and finds out whether rows are slow. Returns which row ran, and when; the lock is held."""
        row, now = call.row, time.monotonic()
        is_same_call = seen is not None and seen[0] == call.id
        if is_same_call and (now - seen_at) / max(1, row - seen[1]) >= _TICK:
            call.is_slow = True
        # Read again after `is_slow` was set: a row that begins from now on names itself.
        is_same_row = is_same_call and call.row == row == seen[1]
        if is_same_row or now - call.sent_at >= _FLUSH:
            self._send(call, row)
        if is_same_row:
            self._name(call, row)
        return (call.id, row), now


class _Call:
    """The rows of one `run` frame and their results so far. `row` is the row being computed."""

    def __init__(self, frame, graph):
        self.id = frame["call"]
        self.n = frame["n"]
        self.row = 0
        self.sent = 0
        self.sent_at = time.monotonic()
        self.named = -1
        self.is_slow = False
        self.began_at = 0.0  # when the present row began; known only while rows are slow
        self._graph = graph
        self._columns = frame["columns"]
        self._results = [[] for _ in graph.names]
        self._errors = {}

    def compute(self, before_row):
        """Fills the results. Each row is appended whole before `row` moves on."""
        graph = self._graph
        if isinstance(graph, _Broken):
            for row in range(self.n):
                self._append((None,) * len(graph.names))
                self._errors[row] = dict.fromkeys(graph.names, graph.error)
            self.row = self.n
            return
        columns = self._columns
        for place in graph.floats:
            columns[place] = [float(v) if type(v) is int else v for v in columns[place]]
        rows = zip(*columns) if columns else iter([()] * self.n)
        if graph.single is not None:
            self._compute_single(graph, rows, before_row)
            return
        inputs = len(columns)
        for number, values in enumerate(rows):
            self.row = number
            if self.is_slow:
                before_row(self, number)
            row = list(values)
            errors = graph.run_row(row)
            if errors is not None:
                self._errors[number] = errors
            self._append(row[inputs:])
        self.row = self.n

    def _compute_single(self, graph, rows, before_row):
        step, append = graph.single, self._results[0].append
        for number, row in enumerate(rows):
            self.row = number
            if self.is_slow:
                before_row(self, number)
            try:
                value = step(row)
            except BaseException as error:
                self._errors[number] = {graph.names[0]: graph.failure(error)}
                value = None
            append(value)
        self.row = self.n

    def _append(self, values):
        for results, value in zip(self._results, values):
            results.append(value)

    def fail(self, row, error):
        """Puts an error in the place of a row's results."""
        for results in self._results:
            results[row] = None
        self._errors[row] = dict.fromkeys(self._graph.names, error)

    def rows(self, start, stop):
        """The frame that carries the results of some rows."""
        errors = None
        if self._errors:
            errors = [self._errors.get(row) for row in range(start, stop)]
            errors = errors if any(errors) else None
        whole = start == 0 and stop == self.n
        columns = self._results if whole else [results[start:stop] for results in self._results]
        return {"t": "rows", "call": self.id, "rows": list(range(start, stop)), "columns": columns, "errors": errors}


class _Broken:
    """A graph that could not be compiled."""

    def __init__(self, frame, error):
        self.names = [step["name"] for step in frame["steps"]]
        self.error = error
