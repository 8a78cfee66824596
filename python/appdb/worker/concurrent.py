"""Concurrent graphs: those with a function that is async, batched or in a resource pool, or a column that uses a query.

Such calls are extracted from their expressions and become separate steps, so that a row can wait for one while
others run. Their results are hidden columns; a reader of a failed one fails like the call itself.
"""

from appdb.expressions.evaluate import cell_errors_read, columns_read, compile_arguments, compile_query, compile_step, condition_and_value, parts_of
from appdb.worker.failures import skipped
from appdb.worker.graphs import wire_readers, watching_errors

INLINE, MAIN, CALL, BATCH, QUERY = "inline", "main", "call", "batch", "query"


class Step:
    """One step. `needs` are the steps that must finish first, `reads` those whose failure fails it too."""

    __slots__ = ("at", "place", "name", "is_visible", "kind", "run", "needs", "reads", "watching", "when", "when_reads")


class ConcurrentGraph:
    """The steps of a graph in dependency order. A row has the inputs, then all steps."""

    def __init__(self, frame, functions, project_root):
        self.inputs = frame["inputs"]
        self.names = [step["name"] for step in frame["steps"]]
        self.readers = wire_readers(self.inputs)
        self.root = project_root
        self._functions = functions
        self._places = {column["name"]: n for n, column in enumerate(self.inputs)}
        self._step_of = {}
        lowered = []
        for step in frame["steps"]:
            condition, value = condition_and_value(step["expr"])
            first = len(lowered)
            expr = self._parts_lowered(value, lowered)
            lowered.append((step["name"], expr, True, condition))
            # The calls inside of a view's column are made for the view's rows only.
            lowered[first:] = [(*own[:3], condition) for own in lowered[first:]]
        self.width = len(self.inputs) + len(lowered)
        self.steps = [self._step(at, *step) for at, step in enumerate(lowered)]
        self.visible = [step for step in self.steps if step.is_visible]

    def passed_on(self, failed, error):
        """The error of a step that reads the failed one."""
        return skipped(error) if self.steps[failed].is_visible else error

    def cause(self, step, failed, causes):
        """The column because of which a step that reads the failed one has no value: {name: column}. A failed call of
        the column itself is not another column."""
        read = self.steps[failed]
        column = causes.get(read.name, read.name if read.is_visible else None)
        return {} if column is None else {step.name: column}

    def _lowered(self, expr, steps):
        """The expression without concurrent calls, which become hidden steps before it."""
        expr = self._parts_lowered(expr, steps)
        if not self._is_concurrent(expr) or has_item(expr):
            return expr
        name = f"\0{len(steps)}"
        steps.append((name, expr, False, None))
        return {"node": "column", "name": name, "type": expr["type"], "nullable": True}

    def _parts_lowered(self, expr, steps):
        return _with_parts(expr, lambda part: self._lowered(part, steps))

    def _is_concurrent(self, expr):
        return expr["node"] == "query" or (
            expr["node"] == "udf" and self._functions[expr["function"]].is_concurrent
        )

    def _step(self, at, name, expr, is_visible, condition):
        step = Step()
        step.at, step.place, step.name, step.is_visible = at, len(self.inputs) + at, name, is_visible
        watched = cell_errors_read(expr)
        step.watching = watching_errors(watched, list(self._step_of), self._places)
        places = {**self._places, **{read: self.width + n for n, read in enumerate(watched)}}
        step.kind, step.run = self._compiled(expr, places)
        # In computation order: the first failed one is the reported cause.
        step.reads = self._read_steps(expr)
        step.when_reads = [] if condition is None else self._read_steps(condition)
        step.when = None if condition is None else compile_step(condition, places, self._functions)
        step.needs = {*step.reads, *step.when_reads, *(self._step_of[column] for column, _ in watched if column in self._step_of)}
        self._places[name] = step.place
        self._step_of[name] = at
        return step

    def _read_steps(self, expr):
        return sorted(self._step_of[read] for read in columns_read(expr) if read in self._step_of)

    def _compiled(self, expr, places):
        if expr["node"] == "query":
            return QUERY, compile_query(expr, places, self._functions)
        if self._is_concurrent(expr):
            call = compile_arguments(expr, places, self._functions)
            return BATCH if call.overload.batch_size is not None else CALL, call
        kind = MAIN if any(_takes_long(node) for node in nodes(expr)) else INLINE
        return kind, compile_step(expr, places, self._functions)


def _takes_long(node):
    return node["node"] in ("udf", "query") or (node["node"] == "call" and node["fn"] in ("op.iterate", "op.reread"))


def is_concurrent(frame, functions):
    """True when a graph must run as a ConcurrentGraph."""
    if any(function.is_concurrent for function in functions.values()):
        return True
    return any(node["node"] == "query" for step in frame["steps"] for node in nodes(step["expr"]))


def nodes(expr):
    """Yields an expression and all its parts."""
    yield expr
    for part in parts_of(expr):
        yield from nodes(part)


def has_item(expr):
    """True when an expression reads the current element of an enclosing mapping function."""
    return any(node["node"] == "item" for node in nodes(expr))


def _with_parts(expr, change):
    node = expr["node"]
    if node in ("call", "udf", "aggregate"):
        kwargs = {name: change(part) for name, part in expr["kwargs"].items()}
        return {**expr, "args": [change(part) for part in expr["args"]], "kwargs": kwargs}
    if node == "path":
        return {**expr, "base": change(expr["base"])}
    if node == "dict":
        return {**expr, "entries": [{**entry, "value": change(entry["value"])} for entry in expr["entries"]]}
    if node == "list":
        return {**expr, "items": [change(part) for part in expr["items"]]}
    if node == "query":
        return {**expr, "args": {name: change(part) for name, part in expr["args"].items()}}
    return expr
