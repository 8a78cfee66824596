"""Aggregations: rows of a query go to the aggregates of their groups, in the main thread, on arrival."""

from time import monotonic

from appdb.declare.types import manifest_type
from appdb.expressions.evaluate import compile_step
from appdb.kinds import rules
from appdb.values import WrongType, decoder, encoder
from appdb.worker.calling import CellError, Counts
from appdb.worker.failures import worker_error
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
            self._open[call].feed(frame["groups"], frame["columns"])
            self._send({"t": "fed", "call": call})
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
        self._errors = {}
        self._broken = None
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
        places = [parameter.name for parameter in aggregate.updated if parameter.mode != "keyword_only"]
        self._names, self._decoders, self._strict = [], [], []
        for place, argument in enumerate(frame["args"]):
            name = argument["name"]
            self._names.append(name)
            self._decoders.append(_decoding(argument["type"]))
            self._strict.append(not nullable[name if name is not None else places[place]])
        self._encode = encoder(manifest_type(aggregate.result[0]))

    def feed(self, groups, columns):
        """Takes rows; skips those with a null for a non-nullable parameter."""
        if self._broken is not None:
            self._errors.update(dict.fromkeys(groups, self._broken))
            return
        columns = [
            column if decode is None else [None if value is None else decode(value) for value in column]
            for decode, column in zip(self._decoders, columns)
        ]
        strict = [place for place, is_strict in enumerate(self._strict) if is_strict]
        positional = [place for place, name in enumerate(self._names) if name is None]
        named = [(place, name) for place, name in enumerate(self._names) if name is not None]
        began = monotonic()
        for number, group in enumerate(groups):
            state = self._groups.get(group)
            if state is None:
                if group in self._errors:
                    continue
                state = self._begin(group)
                if state is None:
                    continue
            values = [column[number] for column in columns]
            if any(values[place] is None for place in strict):
                continue
            try:
                state.update(
                    *[values[place] for place in positional], **self._fixed, **{name: values[n] for n, name in named}
                )
            except BaseException as error:
                self._fail(group, error)
        self._counts.calls += len(groups)
        self._counts.rows += len(groups)
        self._counts.seconds += monotonic() - began

    def finish(self, also):
        """Values and errors by group."""
        for group in also:
            if self._broken is None and group not in self._groups and group not in self._errors:
                self._begin(group)
        groups = list(dict.fromkeys([*self._groups, *self._errors, *also]))
        values = [self._value(group) for group in groups]
        errors = [self._broken or self._errors.get(group) for group in groups]
        return {"groups": groups, "values": values, "errors": errors if any(errors) else None}

    def _begin(self, group):
        try:
            state = self._groups[group] = self._aggregate.made(**self._settings)
            return state
        except BaseException as error:
            self._fail(group, error)
            return None

    def _value(self, group):
        state = self._groups.get(group)
        if state is None or self._broken is not None:
            return None
        kind, nullable = self._aggregate.result
        try:
            value = state.value()
            if value is not None:
                return self._encode(value)
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


def _decoding(type):
    return rules(type["kind"]).from_wire or decoder(type)
