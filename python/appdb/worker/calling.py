"""Calls of user functions while rows are computed: arguments, nulls that skip a call, checked results, counts."""

from time import monotonic

from appdb.kinds import rules
from appdb.values import WrongType, decoder, encoder


class CellError(Exception):
    """A cell without a value: `function` is what failed, `cause` its exception (WrongType for a wrong result)."""

    def __init__(self, function, cause):
        super().__init__(function)
        self.function = function
        self.cause = cause


class Counts:
    """Counts of one function since the worker's start; `running` is the number of its current calls. Written by one
    thread."""

    __slots__ = ("calls", "errors", "rows", "seconds", "retries", "running")

    def __init__(self):
        self.calls = self.errors = self.rows = self.retries = self.running = 0
        self.seconds = 0.0

    def since(self, before):
        """The difference to `before`, a dict that this updates."""
        added = {"running": self.running}
        for name in ("calls", "errors", "rows", "seconds", "retries"):
            now = getattr(self, name)
            added[name] = now - before.get(name, 0)
            before[name] = now
        return added


class Limited:
    """The running call, in the main thread, of a function with its own time limit: (id, limit, start time), or None."""

    now = None


class Callees(dict):
    """The functions of a graph by id (Overload), with their counts; `outside` runs a concurrent call and waits for it."""

    outside = None

    def __init__(self, overloads, counts=None):
        super().__init__(overloads)
        self.counts = {} if counts is None else counts
        for id in self:
            self.counts.setdefault(id, Counts())


class Call:
    """A compiled `udf` node: the arguments from a row, and the handling of its result."""

    def __init__(self, expr, functions, args, kwargs, decode):
        self.id = expr["function"]
        self.overload = functions[self.id]
        self.function = self.overload.function
        self.counts = functions.counts[self.id] if isinstance(functions, Callees) else Counts()
        self.kind = expr["type"]["kind"]
        self.args = args
        self.kwargs = kwargs
        self.skipping = _skipped_by_null(self.overload, args, kwargs)
        self.encode = encoder(expr["type"])
        self.back = decoder(expr["type"]) if decode else None

    def arguments(self, row):
        """The arguments for a row as (list, dict); None where a null skips the call."""
        values = [arg(row) for arg in self.args]
        named = {key: arg(row) for key, arg in self.kwargs.items()}
        for key in self.skipping:
            if (named[key] if type(key) is str else values[key]) is None:
                return None
        return values, named

    def finish(self, result):
        """The result in stored form, or as the expression around it takes it. Raises CellError for a wrong type."""
        if result is None:
            if self.overload.result[1]:
                return None
            self.counts.errors += 1
            raise CellError(self.id, WrongType(f"expected {rules(self.kind).python}, got None"))
        try:
            stored = self.encode(result)
            return stored if self.back is None else self.back(stored)
        except Exception as error:
            self.counts.errors += 1
            raise CellError(self.id, error) from error


def compile_call(expr, functions, args, kwargs, decode):
    """Returns the closure of a call: from a row to its value; a null that skips the call gives null."""
    call = Call(expr, functions, args, kwargs, decode)
    if call.overload.is_concurrent:
        return _waited_for(call, functions)
    run, finish = counted(call), call.finish

    def call_udf(row):
        arguments = call.arguments(row)
        return None if arguments is None else finish(run(*arguments[0], **arguments[1]))

    if len(args) != 1 or kwargs:
        return call_udf
    first, is_skipped = args[0], bool(call.skipping)

    def call_with_one(row):
        value = first(row)
        return None if value is None and is_skipped else finish(run(value))

    return call_with_one


def counted(call):
    """The function with counts, and with its time limit visible while it runs. Raises CellError for its exceptions."""
    name, function, counts = call.id, call.function, call.counts

    def run(*args, **kwargs):
        counts.calls += 1
        counts.rows += 1
        counts.running += 1
        began = monotonic()
        try:
            return function(*args, **kwargs)
        except BaseException as error:  # SystemExit and KeyboardInterrupt belong to this row.
            counts.errors += 1
            raise CellError(name, error) from error
        finally:
            counts.running -= 1
            counts.seconds += monotonic() - began

    return within_limit(name, call.overload.timeout_s, run)


def within_limit(name, limit, run):
    """The function with its own time limit, in seconds, visible while it runs."""
    if limit is None:
        return run

    def run_limited(*args, **kwargs):
        around, Limited.now = Limited.now, (name, limit, monotonic())
        try:
            return run(*args, **kwargs)
        finally:
            Limited.now = around

    return run_limited


def _waited_for(call, functions):
    """A concurrent function whose result is needed at once, as over the elements of a list."""

    def wait(row):
        arguments = call.arguments(row)
        return None if arguments is None else call.finish(functions.outside.call(call, *arguments))

    return wait


def _skipped_by_null(overload, args, kwargs):
    """Indexes and names of the arguments whose null skips the call: those of non-nullable parameters."""
    if overload.parameters is None:
        return ()
    by_place = [parameter for parameter in overload.parameters if parameter.mode != "keyword_only"]
    by_name = {parameter.name: parameter for parameter in overload.parameters}
    places = [place for place in range(len(args)) if not by_place[place].nullable]
    return tuple(places + [key for key in kwargs if not by_name[key].nullable])
