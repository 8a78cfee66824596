"""The worker's main thread: rows of plain graphs in sequence, plain functions of concurrent rows, folds."""

import time

from appdb.worker.calling import Callees
from appdb.worker.concurrent import ConcurrentGraph, is_concurrent
from appdb.worker.failures import worker_error
from appdb.worker.graphs import Broken, Graph
from appdb.worker.loading import callee
from appdb.worker.outbox import TICK, Outbox
from appdb.worker.watching import Watch


class Runner:
    """Runs the requests in frames. After the first concurrent graph, a separate thread reads the frames."""

    def __init__(self, writer, project_root, limit_s):
        self._root = project_root
        self._limit_s = limit_s
        self._graphs = {}
        self._counts = {}
        self._folds = None
        self._flow = None
        self._queue = None
        self._outbox = Outbox(writer, project_root)
        self._watch = Watch(self._outbox, self._counts, limit_s)

    def serve(self, reader):
        """Serves frames until the input ends or the engine requests the end."""
        while self._flow is None:
            frame = reader.read()
            if frame is None or frame["t"] == "exit":
                return
            self._take(frame)
        import _thread

        _thread.start_new_thread(self._read, (reader,))
        while (work := self._queue.get()) is not None:
            if callable(work):
                work()
            else:
                self._take(work)

    def _read(self, reader):
        """Dispatches frames: concurrent rows go to the event loop at once, even if the main thread is busy."""
        while (frame := reader.read()) is not None and frame["t"] != "exit":
            kind = frame["t"]
            if kind in ("grant", "answer"):
                self._flow.answer(frame)
            elif kind == "graph" or (kind == "run" and isinstance(self._graphs[frame["graph"]], ConcurrentGraph)):
                self._take(frame)
            else:
                self._queue.put(frame)
        self._queue.put(None)

    def _take(self, frame):
        kind = frame["t"]
        if kind == "run":
            self._run(frame, self._graphs[frame["graph"]])
        elif kind == "graph":
            self._define(frame)
        else:
            self._fold(frame)

    def _define(self, frame):
        """Compiles a graph. Each row of an invalid graph gets the error."""
        function = frame["functions"][0]["id"] if frame["functions"] else "graph"
        try:
            overloads = {}
            for wanted in frame["functions"]:
                function = wanted["id"]
                overloads[function] = callee(wanted)
            functions = Callees(overloads, self._counts)
            if is_concurrent(frame, functions):
                functions.outside = self._begin_flow()
                made = ConcurrentGraph(frame, functions, self._root)
            else:
                made = Graph(frame, functions, self._root)
        except Exception as error:
            told = worker_error(function, error, self._root)
            made = Broken(frame, told if told["kind"] == "missing" else {**told, "kind": "import"})
        self._graphs[frame["graph"]] = made

    def _begin_flow(self):
        if self._flow is None:
            from queue import SimpleQueue

            from appdb.worker.flow import Flow

            self._queue = SimpleQueue()
            self._flow = self._watch.flow = Flow(self._outbox.send, self._to_main, self._root, self._limit_s)
        return self._flow

    def _to_main(self, key, limited, work):
        """Runs a plain function of a concurrent row in the main thread; `limited` is (function, limit) if known."""

        def run():
            self._watch.step = (key, limited, time.monotonic())
            try:
                work()
            finally:
                self._watch.step = None

        self._queue.put(run)

    def _run(self, frame, graph):
        """Computes the rows of a call and sends their results and its end; concurrent ones go to the event loop."""
        if isinstance(graph, ConcurrentGraph):
            self._flow.run(frame, graph)
            self._watch.rouse()
            return
        call = Call(frame, graph)
        self._watch.begin(call)
        call.compute(self._before_row)
        self._watch.end(call)

    def _before_row(self, call, row):
        """Called before each row while rows are slow. A named row is answered before the next one starts. A row that
        then blocks the interpreter forever cannot be mistaken for the previous one."""
        now = time.monotonic()
        with self._outbox.lock:
            self._outbox.send_ready(call, row)
            if now - call.began_at < TICK:
                call.is_slow = False
                return
            call.began_at = now
            self._outbox.name(call, row)

    def _fold(self, frame):
        if self._folds is None:
            from appdb.worker.folds import Folds

            self._folds = Folds(self._outbox.send, self._root, self._counts)
        self._watch.rouse()
        self._folds.take(frame)


class Call:
    """The rows of one `run` frame and their results so far. `row` is the row being computed."""

    def __init__(self, frame, graph):
        self.id = frame["call"]
        self.n = frame["n"]
        self.row = 0
        self.sent = 0
        self.sent_at = time.monotonic()
        self.named = None
        self.is_slow = False
        self.began_at = 0.0  # Start of the current row; known only while rows are slow.
        self._graph = graph
        self._columns = frame["columns"]
        self._results = [[] for _ in graph.names]
        self._errors = {}
        self._values = None  # The current row, which grows by the value of each step.

    @property
    def step(self):
        """The number of the running step; None between rows."""
        step = 0 if self._values is None else len(self._values) - len(self._columns)
        return step if step < len(self._graph.names) else None

    def runs(self, function):
        """Whether the graph calls a function of the application."""
        return function in self._graph.functions

    def compute(self, before_row):
        """Computes the results. Each row is appended completely before `row` advances."""
        graph = self._graph
        if isinstance(graph, Broken):
            for row in range(self.n):
                self._append((None,) * len(graph.names))
                self._errors[row] = dict.fromkeys(graph.names, graph.error)
            self.row = self.n
            return
        columns = self._columns
        for place, read in graph.readers:
            columns[place] = [read(v) if type(v) is int else v for v in columns[place]]
        rows = zip(*columns) if columns else iter([()] * self.n)
        if graph.single is not None:
            self._compute_single(graph, rows, before_row)
            return
        inputs = len(columns)
        for number, values in enumerate(rows):
            self.row = number
            if self.is_slow:
                before_row(self, number)
            self._values = row = list(values)
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
        """Replaces a row's results by an error."""
        for results in self._results:
            results[row] = None
        self._errors[row] = dict.fromkeys(self._graph.names, error)

    def rows(self, start, stop):
        """The frame with the results of some rows."""
        errors = None
        if self._errors:
            errors = [self._errors.get(row) for row in range(start, stop)]
            errors = errors if any(errors) else None
        whole = start == 0 and stop == self.n
        columns = self._results if whole else [results[start:stop] for results in self._results]
        return {"t": "rows", "call": self.id, "rows": list(range(start, stop)), "columns": columns, "errors": errors}
