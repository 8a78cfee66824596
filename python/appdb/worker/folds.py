"""Aggregations: rows of a query go to the aggregates of their groups, in the main thread, on arrival."""

from time import monotonic

from appdb.declare.types import manifest_type
from appdb.expressions.evaluate import compile_step, compile_value
from appdb.kinds import rules
from appdb.kinds._media import Leaving
from appdb.values import WrongType, decoder, encoder
from appdb.worker.calling import CellError, Counts
from appdb.worker.failures import worker_error
from appdb.worker.graphs import wire_readers
from appdb.worker.loading import loaded


class Folds:
    """The aggregations in progress, by call."""

    def __init__(self, send, project_root, counts):
        self._send = send
        self._root = project_root
        self._counts = counts
        self._open = {}

    def take(self, frame):
        """Takes `fold`, `feed`, `finish` and `drop`."""
        kind, call = frame["t"], frame["call"]
        if kind == "fold":
            self._open[call] = _Fold(frame, self._root, self._counts)
        elif kind == "feed":
            values, errors = self._open[call].feed(frame["groups"], frame["columns"])
            self._send({"t": "fed", "call": call, "values": values, "errors": errors if any(errors) else None})
        elif kind == "finish":
            self._send({"t": "folded", "call": call, **self._open.pop(call).finish(frame["groups"])})
        else:
            self._open.pop(call, None)


class _Fold:
    """One aggregate over groups of rows. A group whose aggregate raised has no value; the others continue."""

    def __init__(self, frame, project_root, counts):
        self._root = project_root
        self._id = frame["function"]["id"]
        self._counts = counts.setdefault(self._id, Counts())
        self._groups = {}
        self._done = {}  # Values of groups that have ended.
        self._errors = {}
        self._broken = None
        self._is_window = frame["is_window"]
        try:
            self._aggregate = loaded(frame["function"])
            self._prepare(frame)
        except Exception as error:
            self._broken = self._error(error)

    def _prepare(self, frame):
        aggregate = self._aggregate
        constants = {name: compile_step(expr, {}, {})(()) for name, expr in frame["constants"].items()}
        kinds = {parameter.name: manifest_type(parameter.kind) for parameter in aggregate.parameters}
        objects = {name: _object(kinds[name], value) for name, value in constants.items()}
        own = {parameter.name for parameter in aggregate.settings}
        self._settings = {name: value for name, value in objects.items() if name in own}
        self._fixed = {name: value for name, value in objects.items() if name not in own}
        nullable = {parameter.name: parameter.nullable for parameter in aggregate.updated}
        names = [parameter.name for parameter in aggregate.updated if parameter.mode != "keyword_only"]
        self._readers = wire_readers(frame["inputs"])
        places = {column["name"]: place for place, column in enumerate(frame["inputs"])}
        functions = {one["id"]: loaded(one) for one in frame["functions"]}
        self._args, self._named = [], {}
        for place, argument in enumerate(frame["args"]):
            name = argument["name"]
            compiled = compile_value(argument["expr"], places, functions)
            is_strict = not nullable[name if name is not None else names[place]]
            if name is None:
                self._args.append((compiled, is_strict))
            else:
                self._named[name] = (compiled, is_strict)
        self._encode = encoder(manifest_type(aggregate.result[0]))
        self._is_sorted = frame["is_sorted"]

    def feed(self, groups, columns):
        """Takes rows; skips those with a null for a non-nullable parameter. Returns values and errors of a window's rows."""
        values, errors = [], []
        if self._broken is not None:
            self._errors.update(dict.fromkeys(groups, self._broken))
        columns = list(columns)
        for place, read in self._readers if self._broken is None else ():
            columns[place] = [None if value is None else read(value) for value in columns[place]]
        began = monotonic()
        for number, group in enumerate(groups):
            is_taken = group not in self._errors and self._take(group, [column[number] for column in columns])
            if self._is_window:
                values.append(self._value(group) if is_taken else None)
                errors.append(self._errors.get(group))
        self._counts.calls += len(groups)
        self._counts.rows += len(groups)
        self._counts.seconds += monotonic() - began
        return values, errors

    def _take(self, group, row):
        """Whether the group's aggregate took the row."""
        try:
            if group not in self._groups:
                self._end_others()
                self._groups[group] = self._aggregate.made(**self._settings)
            # One row is decoded at a time: its files may be large.
            args = [arg(row) for arg, _ in self._args]
            named = {name: arg(row) for name, (arg, _) in self._named.items()}
            if any(value is None and is_strict for value, (_, is_strict) in zip(args, self._args)):
                return False
            if any(named[name] is None and is_strict for name, (_, is_strict) in self._named.items()):
                return False
            self._groups[group].update(*args, **self._fixed, **named)
            return True
        except BaseException as error:
            self._fail(group, error)
            return False

    def _end_others(self):
        """Ends the groups before the next one, so that one group at a time holds its rows."""
        for group in list(self._groups) if self._is_sorted else ():
            if not self._is_window:
                self._done[group] = self._value(group)
            self._groups.pop(group, None)

    def finish(self, also):
        """Values and errors by group."""
        for group in also:
            if self._broken is None and not any(group in known for known in (self._groups, self._done, self._errors)):
                self._begin(group)
        groups = list(dict.fromkeys([*self._done, *self._groups, *self._errors, *also]))
        values = [self._done[group] if group in self._done else self._value(group) for group in groups]
        errors = [self._broken or self._errors.get(group) for group in groups]
        return {"groups": groups, "values": values, "errors": errors if any(errors) else None}

    def _begin(self, group):
        try:
            self._groups[group] = self._aggregate.made(**self._settings)
        except BaseException as error:
            self._fail(group, error)

    def _value(self, group):
        state = self._groups.get(group)
        if state is None or self._broken is not None:
            return None
        kind, nullable = self._aggregate.result
        try:
            value = state.value()
            if value is not None:
                stored = self._encode(value)
                # A file is written now: results of many groups would not fit into memory, and may change with later rows.
                return stored.wire() if isinstance(stored, Leaving) else stored
            if not nullable:
                raise WrongType(f"expected {rules(kind).python}, got None")
        except BaseException as error:
            self._fail(group, error)
        return None

    def _fail(self, group, error):
        self._groups.pop(group, None)
        self._counts.errors += 1
        self._errors[group] = self._error(error)

    def _error(self, error):
        if isinstance(error, CellError):
            return worker_error(error.function, error.cause, self._root)
        return worker_error(self._id, error, self._root)


def _object(type, value):
    decode = decoder(type)
    return value if value is None or decode is None else decode(value)
