"""The namespace in which Python executes a model's body, so that annotated names are columns on later lines."""

import sys

from appdb.declare.declared import Column, Declared, caller
from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError, did_you_mean
from appdb.declare.names import check_column_name
from appdb.declare.types import column_type, manifest_type
from appdb.expressions.expr import ColumnRef, Expr, literal
from appdb.kinds import DISPLAY, rules
from appdb.kinds._base import Kind

# From 3.14 on, annotations are functions that run later (declare/deferred.py).
DEFERRED = sys.version_info >= (3, 14)


class _Annotations(dict):
    """Receives annotations while the body's lines execute."""

    def __init__(self, body):
        super().__init__()
        self._body = body

    def __setitem__(self, name, annotation):
        frame = sys._getframe(1)
        self._body.seen_annotation = True
        self._body.annotate(name, annotation, (frame.f_code.co_filename, frame.f_lineno), frame)


def _refuse_slip(name, value, model):
    """Refuses what other libraries, or a slip, make of `__indexes__` and `name=`. Python sets other such names."""
    if name[2:5] in ("ind", "idx") and not callable(value):
        hint = "Write __indexes__ = [...], a list of db.BtreeIndex(column)."
    elif name == "__tablename__":
        hint = f'Write class {model}(Base, name="{value}"):'
    elif name == "__table_args__":
        hint = f"Remove it. A model has __indexes__, and options in `class {model}(Base, ...)`."
    else:
        return
    raise AppFileError(f"{name} has no meaning in a model.", hint)


class Body(dict):
    """The assignments and annotations of a model's body. `table` identifies the owner of its columns."""

    def __init__(self, table, class_name, frame):
        super().__init__()
        self.table = table
        self.columns = {}
        self.indexes = []
        self.seen_annotation = False
        self._class_name = class_name
        self._outer = frame
        self._file = frame.f_code.co_filename
        self._line = frame.f_lineno
        self._deferred = None
        self._early = set()  # Columns declared because a line read them before their annotation was evaluated.
        dict.__setitem__(self, "__annotations__", _Annotations(self))
        if DEFERRED:
            from appdb.declare.deferred import AnnotatedNames

            self._deferred = AnnotatedNames(self._file, class_name, self._line)

    def __setitem__(self, name, value):
        if name == "__indexes__":
            self.indexes = value
        elif name.startswith("__") and name.endswith("__"):
            _refuse_slip(name, value, self._class_name)
            dict.__setitem__(self, name, value)
        else:
            self._assign(name, value, caller(1))

    def __missing__(self, name):
        # Only annotated names are answered here; Python looks up all others outside the class.
        if self._deferred is None or self.seen_annotation or self._early is None:
            raise KeyError(name)
        frame = sys._getframe(1)
        annotation = self._deferred.annotation(name, frame.f_lineno, self._outer.f_globals, self._outer.f_locals)
        self.annotate(name, annotation, (self._file, self._deferred.line(name)), frame)
        self._early.add(name)
        return self[name]

    def annotate(self, name, annotation, source, frame):
        """Declares a stored column from its annotation."""
        if name.startswith("__") and name.endswith("__"):
            return
        self._refuse_second(name, source)
        if isinstance(annotation, str):
            annotation = self._evaluate(name, annotation, frame)
        folded = check_column_name(name)
        kind, nullable = column_type(annotation, name)
        kind = _validated(kind, self.table.media_validation)
        self._refuse_stored(name, kind)
        self._declare(name, ColumnRef(self.table, folded, kind, nullable), None, None, source)

    def close(self):
        """Ends the body: evaluates deferred annotations and sorts the columns by line."""
        if self._deferred is not None and not self.seen_annotation:
            self._declare_late()
            self.columns = dict(sorted(self.columns.items(), key=lambda item: item[1].source[1]))
        self._outer = None

    def _declare_late(self):
        early, self._early = self._early, None
        annotate = self.get("__annotate_func__") or self.get("__annotate__")
        late = annotate(1) if annotate else {}  # 1 requests values, like annotationlib.Format.VALUE.
        for name in late:
            if name not in early:
                self.annotate(name, late[name], (self._file, self._deferred.line(name) or self._line), self._outer)
        for name in early:
            if name not in late:
                raise AppFileError(
                    f"Column '{name}' is read, but its line {self._deferred.line(name)} was not executed.",
                    "Declare it in the same branch, or outside of the condition.",
                )

    def _assign(self, name, value, source):
        indexes = sys.modules.get("appdb.declare.indexes")  # Loaded by the first index of the file.
        if indexes is not None:
            indexes.refuse_elsewhere(name, value)
        if (
            isinstance(value, Expr)
            and isinstance(value, ColumnRef)
            and value._owner is self.table
            and value._name == name
        ):
            return
        self._refuse_second(name, source)
        folded = check_column_name(name)
        options = value if isinstance(value, Column) else None
        if options is not None and options.type is not None:
            kind, nullable = column_type(self._resolve(name, options.type), name)
            self._refuse_stored(name, kind)
            kind = _checked_kind(kind, options, name)
            kind = _validated(kind, options.media_validation or self.table.media_validation)
            default = None if options.default is None else _default_of(options.default, kind, name)
            self._declare(name, ColumnRef(self.table, folded, kind, nullable), None, options, source, default)
            return
        expr = self._computed(name, options.value if options else value)
        if options is not None and not options.is_stored:
            from appdb.declare.unstored import unstored_column

            _computed_kind(expr._kind, options, name)
            if self.table.view is not None:
                from appdb.declare.views import owned

                expr = owned(expr, self.table)
            self._declare(name, unstored_column(self.table, folded, expr, options), expr, options, source)
            return
        kind = expr._kind if options is None else _computed_kind(expr._kind, options, name)
        self._declare(name, ColumnRef(self.table, folded, kind, expr._nullable, True), expr, options, source)

    def _computed(self, name, value):
        if value is None:
            raise AppFileError(
                f"Column '{name}' is None, which has no type.",
                f"Write {name}: db.String | None for a column that may be null.",
            )
        expr = value if isinstance(value, Expr) else literal(value)
        if _aggregates(expr._node):
            raise AppFileError(
                f"Column '{name}' is {expr._text}, a value of many rows; a column is computed from its own row.",
                "Ask for it in a query: select(...) in a function marked @db.query.",
            )
        for ref in expr._reads:
            if ref._owner is self.table:
                continue
            if self.table.view is not None:
                from appdb.declare.views import check_readable

                check_readable(self.table, name, ref)
            else:
                raise AppFileError(
                    f"Column '{name}' reads '{ref._name}' of another model; a row knows its own columns only.",
                    f"Declare '{ref._name}' in this model.",
                )
        return expr

    def _refuse_stored(self, name, kind):
        if self.table.view is not None:
            from appdb.declare.views import refuse_stored

            refuse_stored(self.table, name, kind)

    def _declare(self, name, ref, value, options, source, default=None):
        if options is not None and options.primary_key:
            if self.table.view is not None:
                raise AppFileError(
                    f"Column '{name}' of the view {self.table.model} has primary_key=; its rows have the key of their table.",
                    "Leave primary_key= out.",
                )
            if ref._nullable:
                raise AppFileError(
                    f"Column '{name}' is part of the primary key and may be null.",
                    "Take '| None' off, or use a value that is never null.",
                )
            if not rules(ref._kind).is_key:
                raise AppFileError(
                    f"Column '{name}' is {DISPLAY[ref._kind]}, which cannot be a primary key.",
                    "Use a String, Int or UUID.",
                )
        self.columns[ref._name] = Declared(ref._name, ref, value, options, source, default)
        dict.__setitem__(self, name, ref)

    def _refuse_second(self, name, source):
        if name.lower() in self.table.inherited:
            view = self.table.view
            is_output = view.makes(name.lower())
            what = "an output of the iterator" if is_output else f"a column of {view.table.model}"
            raise AppFileError(
                f"Column '{name}' is {what} already, which the view shows.",
                "Give the view's column another name.",
            )
        before = self.columns.get(name.lower())
        if before is not None:
            if before.source == source:
                raise AppFileError(
                    f"Column '{name}' has a type behind a colon and a value.",
                    f"Write {name} = db.Column(type=..., default=...), or {name} = <expression> for a computed column.",
                )
            raise AppFileError(
                f"Column '{name}' is declared twice; the first time on line {before.source[1]}.",
                "Give each column a unique name; case does not count.",
            )

    def _resolve(self, name, annotation):
        return self._evaluate(name, annotation, self._outer) if isinstance(annotation, str) else annotation

    def _evaluate(self, name, text, frame):
        outer = self._outer
        try:
            return eval(text, frame.f_globals, outer.f_locals)
        except NameError as error:
            raise AppFileError(
                f"Column '{name}' has the type '{text}'; '{error.name}' is not known.",
                did_you_mean(error.name, DISPLAY.values(), "Import it at the top of the file."),
            ) from None


def open_body(table, class_name, depth):
    """Makes the namespace for a class statement that is about to be executed `depth` frames up."""
    body = Body(table, class_name, sys._getframe(depth + 1))
    Phase.begin_body(body)
    return body


def _checked_kind(kind, options, name):
    """The kind of a given column, with the validation that its options or its model choose. Raises AppFileError."""
    validation = options.media_validation
    if validation is not None and not is_media(kind):
        raise _not_media(name, "media_validation", kind)
    if options.destination is not None:
        raise AppFileError(
            f"Column '{name}' has destination= but is not computed.",
            "Leave it out; db_input_media_dest in service.toml chooses where given files are stored.",
        )
    return kind


def _validated(kind, validation):
    """A media kind whose files are checked as `validation` says; any other kind as it is."""
    if validation != "on_read" or not is_media(kind):
        return kind
    return Kind({**manifest_type(kind), "validation": "on_read"})


def _computed_kind(kind, options, name):
    """The kind of a computed column with its destination. Raises AppFileError for options that it cannot have."""
    if options.media_validation is not None:
        raise AppFileError(
            f"Column '{name}' has media_validation= but is computed.", "Leave it out: only given files are checked."
        )
    if options.destination is None:
        return kind
    if not is_media(kind):
        raise _not_media(name, "destination", kind)
    return Kind({**manifest_type(kind), "destination": options.destination})


def is_media(kind):
    """Whether values of the kind are files."""
    return rules(kind).check is not None


def _not_media(name, option, kind):
    return AppFileError(f"Column '{name}' has {option}= but is {DISPLAY[kind]}, not media.", f"Leave {option}= out.")


def _default_of(value, kind, name):
    from appdb.declare.defaults import default_of

    return default_of(value, kind, name)


def _aggregates(node):
    """True when a node contains an aggregate."""
    if isinstance(node, dict):
        return node.get("node") in ("aggregate", "window") or any(map(_aggregates, node.values()))
    return isinstance(node, list) and any(map(_aggregates, node))
