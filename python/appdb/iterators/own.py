"""`@db.iterator`: an iterator of the application, a generator function or a class whose rows have a TypedDict."""

from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError, UnknownAttribute, did_you_mean
from appdb.declare.types import hint_type
from appdb.iterators.calls import IteratorCall, Output
from appdb.iterators.declared import Iterator, check_output_name
from appdb.udfs.calls import bind, given_arguments, has_columns, printed
from appdb.udfs.programs import function_id
from appdb.udfs.signatures import (
    ASYNC_GENERATOR,
    COROUTINE,
    Signature,
    check_importable,
    checked_timeout,
    hints_of,
    innermost,
    parameters_of,
    refused,
)

_EXAMPLE = "Write: class Part(TypedDict): text: str and def parts(text: str) -> Iterator[Part]"


class OwnIterator(Iterator):
    """An iterator with an id of module and name. Over columns it gives an IteratorCall, over plain values its rows."""

    is_udf = True
    kind = "iterator"
    number = 0
    is_async = is_concurrent = False
    batch_size = resource_pool = None
    result = ("json", False)  # A row.

    def __init__(self, target, unstored, timeout_s):
        is_class = isinstance(target, type)
        self.target = target
        self.name = target.__name__
        self.id = function_id(target)
        self.__module__ = target.__module__
        self.__name__ = target.__name__
        self.__qualname__ = target.__qualname__
        self.__doc__ = target.__doc__
        if is_class:
            from appdb.udfs.uda import place_of_class

            self.made, self.source, self.written = target, place_of_class(target), self
        else:
            self.__wrapped__, self.source = target, None
            self.written = innermost(target)
        self._unstored = unstored
        self.timeout_s = timeout_s
        self.parameters = _parameters_of_class(target, self.source) if is_class else _parameters(self.written)
        self.signature = Signature(self.parameters, self.result)
        self.outputs = self._outputs(_row_of_class(target, self.source) if is_class else _row(self.written, "return"))

    @property
    def owner(self):
        """The object in the module under the iterator's name."""
        return self

    def rows(self, *args, **kwargs):
        """The rows of one row's values."""
        given = self.named(args, kwargs)
        places = [one.name for one in self.parameters if one.mode != "keyword_only"]
        by_place = []
        while places and places[0] in given:
            by_place.append(given.pop(places.pop(0)))
        rows = self.target(*by_place, **given)
        return rows if hasattr(rows, "__iter__") else _stepped(rows)

    def __call__(self, *args, **kwargs):
        if Phase.running:
            return self.target(*args, **kwargs)
        if not has_columns(args, kwargs):
            given_arguments(self.name, self.parameters, args, kwargs)
            return self.target(*args, **kwargs)
        positional, named, _ = bind(self.name, self.parameters, args, kwargs)
        return IteratorCall(self, tuple(positional), named, printed(self.name, positional, named), self.outputs)

    def _outputs(self, row):
        names = _members(row, self)
        where = f"The iterator {self.name}"
        for name in self._unstored:
            if name not in names:
                hint = did_you_mean(name, names, f"Its outputs are {', '.join(names)}.")
                raise self._refused(f"{where} has no output '{name}', which unstored_cols= names.", hint)
        found = []
        for name, hint in names.items():
            try:
                check_output_name(name, where)
                kind, nullable = hint_type(hint, f"The output '{name}' of {self.name}")
            except AppFileError as error:
                raise self._refused(error.detail, error.hint) from None
            found.append(Output(name, kind, nullable, name not in self._unstored))
        return found

    def _refused(self, detail, hint):
        return refused(None if self.source else self.written, detail, hint, self.source)

    def __getattr__(self, name):
        outputs = [output.name for output in self.__dict__.get("outputs", ())]
        if name.startswith("__") or not outputs:
            raise AttributeError(name)
        raise UnknownAttribute(
            f"The iterator {self.name} has no '{name}'.",
            f"In the body of a view with this iterator, write {name} alone."
            if name in outputs
            else f"Its outputs, which the body of a view names alone, are {', '.join(outputs)}.",
        )

    def __repr__(self):
        return f"<iterator {self.id}>"


def iterator(target=None, *, unstored_cols=(), timeout=None, **options):
    """Marks an iterator: a generator function, or a class whose `__init__` takes the arguments.

    The hint of its rows, `-> Iterator[Part]` of the function, or `-> Part` of `__next__`, names a TypedDict, whose
    members are the outputs. Outputs in `unstored_cols` are not stored: a read runs the iterator again up to the row.
    `timeout` limits the time, in seconds, in which it makes all rows of one row.
    Raises AppFileError when another process could not import it, and for a row without hints of column types.
    """
    if options:
        name = next(iter(options))
        raise AppFileError(
            f"@iterator has no option '{name}'.", did_you_mean(name, ["unstored_cols", "timeout"], "It has unstored_cols=[...] and timeout=.")
        )
    if not isinstance(unstored_cols, (list, tuple)) or not all(isinstance(one, str) for one in unstored_cols):
        raise AppFileError(
            f"@iterator has unstored_cols={unstored_cols!r}.", 'Give a list of names of outputs: ["frame"].'
        )
    timeout_s = checked_timeout("iterator", timeout)
    if target is None:
        return lambda marked: _mark(marked, unstored_cols, timeout_s)
    return _mark(target, unstored_cols, timeout_s)


def _stepped(rows):
    """The rows of an object of a class that has `__next__` alone."""
    step, end = type(rows).__next__, getattr(rows, "close", None)
    try:
        while True:
            try:
                row = step(rows)
            except StopIteration:
                return
            yield row
    finally:
        if end is not None:
            end()


def _mark(target, unstored, timeout_s):
    if isinstance(target, OwnIterator):
        raise AppFileError(f"{target.__name__} is marked @iterator twice.", "Mark it once.")
    if isinstance(target, type):
        from appdb.udfs.uda import place_of_class

        check_importable(target, "an iterator", place_of_class(target), may_travel=True)
        return OwnIterator(target, unstored, timeout_s)
    if not hasattr(target, "__code__"):
        name = getattr(target, "__name__", type(target).__name__)
        raise AppFileError(f"@iterator marks {name}, which is neither a function nor a class.", _EXAMPLE)
    check_importable(target, "an iterator", may_travel=True)
    if innermost(target).__code__.co_flags & (ASYNC_GENERATOR | COROUTINE):
        raise refused(innermost(target), f"The iterator {target.__name__} is async.", "Write it with def and yield.")
    return OwnIterator(target, unstored, timeout_s)


def _parameters(function, skip=0):
    parameters, batched = parameters_of(function, "iterator", skip)
    if batched:
        detail = f"The parameter '{batched[0]}' of {function.__name__} is a batch; an iterator takes one row at a time."
        raise refused(function, detail, f"Write {batched[0]}: str, or another type.")
    return parameters


def _parameters_of_class(target, source):
    begin = target.__init__
    if begin is object.__init__:
        return []
    begin = innermost(begin)
    if not hasattr(begin, "__code__"):
        raise AppFileError(f"The iterator {target.__name__} has no __init__ written with def.", _EXAMPLE, source)
    return _parameters(begin, skip=1)


def _row_of_class(target, source):
    """The TypedDict of the rows of a class: the result of `__next__`, or what `__iter__` yields."""
    step = innermost(getattr(target, "__next__", None))
    if step is not None and hasattr(step, "__code__"):
        return _row(step, "__next__")
    begin = innermost(getattr(target, "__iter__", None))
    if begin is None or not hasattr(begin, "__code__"):
        detail = f"The iterator {target.__name__} has no __next__ and no __iter__."
        raise AppFileError(detail, "Write: def __next__(self) -> Part, which raises StopIteration at the end.", source)
    return _row(begin, "return")


def _row(function, kind):
    """The TypedDict in the result's hint: `-> Iterator[Part]`, or of `__next__` itself."""
    name, hints = function.__name__, hints_of(function)
    if "return" not in hints:
        raise refused(function, f"The iterator {name} does not say what its rows have.", _EXAMPLE)
    hint = hints["return"]
    if kind == "return":
        home = getattr(getattr(hint, "__origin__", None), "__name__", None)
        if home not in ("Iterator", "Iterable", "Generator"):
            raise refused(function, f"The hint of the rows of {name} is not Iterator[...] of a TypedDict.", _EXAMPLE)
        hint = hint.__args__[0]
    if not hasattr(hint, "__required_keys__"):
        shown = getattr(hint, "__name__", None) or repr(hint)[:80]
        raise refused(function, f"The rows of {name} have the hint {shown}, which is not a TypedDict.", _EXAMPLE)
    return hint


def _members(row, iterator):
    """The hints of a TypedDict by name, all of which each row must have."""
    from typing import get_type_hints

    missing = None
    try:
        found = get_type_hints(row)
    except NameError as error:
        missing = error.name
    if missing is not None:
        detail = f"{row.__name__}, the rows of {iterator.name}, names '{missing}', which its module does not have."
        raise iterator._refused(detail, "Import it at the top of the module, not only while type checking.")
    if row.__optional_keys__:
        name = min(row.__optional_keys__)
        detail = f"The output '{name}' of {iterator.name} may be missing in a row; each row has all outputs."
        raise iterator._refused(detail, f"Remove NotRequired or total=False, and write {name}: ... | None.")
    if not found:
        detail = f"{row.__name__}, the rows of {iterator.name}, has no outputs."
        raise iterator._refused(detail, _EXAMPLE)
    return found
