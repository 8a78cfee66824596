"""Graphs of a worker: computed columns compiled to one function from a row to its results."""

from appdb.expressions.evaluate import cell_errors_read, columns_read, compile_step, condition_of
from appdb.kinds import rules
from appdb.worker.calling import CellError
from appdb.worker.failures import skipped, worker_error

# The input with a row's stored cell errors, if a step reads one of a column that is not a step.
_STORED_ERRORS = "_errors"


class Graph:
    """`run_row(row)` returns (results, errors by step name or None); the row's list grows by the results."""

    def __init__(self, frame, functions, project_root):
        self.inputs = frame["inputs"]
        self.names = [step["name"] for step in frame["steps"]]
        self.readers = wire_readers(self.inputs)
        self.functions = {function["id"] for function in frame["functions"]}
        self._root = project_root
        places = {column["name"]: n for n, column in enumerate(self.inputs)}
        self._steps, self._reads, self._conditions = [], [], []
        for number, step in enumerate(frame["steps"]):
            watched = cell_errors_read(step["expr"])
            # Their values come after the row while the step runs.
            behind = {read: len(self.inputs) + number + at for at, read in enumerate(watched)}
            compiled = compile_step(step["expr"], {**places, **behind}, functions)
            self._steps.append((compiled, watching_errors(watched, self.names[:number], places)))
            self._reads.append(columns_read(step["expr"]))
            self._conditions.append(condition_of(step["expr"], places, functions))
            places[step["name"]] = len(self.inputs) + number
        only, watching = self._steps[0]
        self.single = only if len(self._steps) == 1 and watching is None else None

    def run_row(self, row):
        """Computes all steps of a row in place. Returns None, or the errors by step name."""
        errors, causes = None, {}
        for number, (step, watching) in enumerate(self._steps):
            if errors is not None:
                failed = self._reads[number].intersection(errors)
                if failed and not self._is_left_out(number, row, errors):
                    read = min(failed, key=self.names.index)
                    errors[self.names[number]] = skipped(errors[read])
                    causes[self.names[number]] = causes.get(read, read)
                    row.append(None)
                    continue
            try:
                row.append(step(row if watching is None else watching(row, errors or {}, causes)))
            except BaseException as error:
                errors = errors or {}
                errors[self.names[number]] = self.failure(error, number)
                row.append(None)
        return errors

    def _is_left_out(self, number, row, errors):
        """Whether the row is known not to be one of a view, whose column then has neither value nor error."""
        condition, reads = self._conditions[number]
        return condition is not None and reads.isdisjoint(errors) and condition(row) is not True

    def failure(self, error, number=0):
        """The error for a step's exception."""
        if isinstance(error, CellError):
            return worker_error(error.function, error.cause, self._root)
        return worker_error(self.names[number], error, self._root)


def watching_errors(reads, before, places):
    """Returns the function that appends cell errors to a row; None if a step reads none.

    Errors of earlier steps are from this run, all others are stored with the row.
    """
    if not reads:
        return None
    stored = places.get(_STORED_ERRORS)

    def with_errors(row, errors, causes):
        kept = _parsed(row[stored]) if stored is not None else {}
        behind = []
        for column, part in reads:
            error = _as_stored(errors.get(column), causes.get(column)) if column in before else kept.get(column)
            # A pending cell has a plain word instead of an error.
            behind.append(error.get(part) if isinstance(error, dict) else None)
        return [*row, *behind]

    return with_errors


def _as_stored(error, cause):
    """An error in its stored form: that of a reader of a failed cell names the cause."""
    if cause is None:
        return error
    return {"type": "CellError", "message": f"{cause} has no value: {error['type']}: {error['message']}"}


def _parsed(text):
    from json import loads

    return {} if text is None else loads(text)


def wire_readers(inputs):
    """The inputs whose values may wrongly arrive as an int, by index, with their conversion functions."""
    found = [(n, rules(column["type"]["kind"]).from_wire) for n, column in enumerate(inputs)]
    return [(n, read) for n, read in found if read is not None]


class Broken:
    """A graph that could not be compiled: each of its rows gets the error."""

    def __init__(self, frame, error):
        self.names = [step["name"] for step in frame["steps"]]
        self.error = error
        self.functions = frozenset()
