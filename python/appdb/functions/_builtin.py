"""A function of the library: its declaration, and its results over columns or plain values."""

from appdb.declare.declaring import Phase
from appdb.expressions.expr import call
from appdb.functions import _AT_TOP, _TOP
from appdb.kinds import kind_named
from appdb.udfs.calls import NO_DEFAULT, Parameter, bind, has_columns, printed

_SIGNATURE = ("parameters", "kind", "nullable")


class Builtin:
    """A function of the library. Over columns it gives an expression, over plain values the value itself."""

    __slots__ = (
        *("id", "name", "python", "examples", "binding", "is_method", "is_property", "is_trusted"),
        *("needs", "constants", "result"),
        *_SIGNATURE,
    )

    def __init__(self, id, python, examples, binding, is_method, is_property, is_trusted, needs, constants, result):
        self.id = id
        self.name = python.__name__
        self.python = python
        self.examples = examples
        self.binding = binding
        self.is_method = is_method
        self.is_property = is_property
        self.is_trusted = is_trusted
        self.needs = needs
        self.constants = constants
        self.result = result

    def __getattr__(self, name):
        # Hints are read on first use, because a file uses few functions of a namespace.
        if name not in _SIGNATURE:
            raise AttributeError(name)
        self.parameters, (self.kind, self.nullable) = signature(self.python)
        return getattr(self, name)

    def __call__(self, *args, **kwargs):
        if Phase.running or not (has_columns(args, kwargs) or not self.parameters):
            return self.python(*args, **kwargs)
        if self.needs:
            from appdb.declare.packages import require

            require(self.needs, f"{self.id}()")
        binds = bind if self.binding is None else _own_binding(self.binding)
        positional, named, skips = binds(self.name, self.parameters, args, kwargs)
        for name in self.constants:
            if name in named and named[name]._node["node"] != "literal":
                raise _differs(self.id, name, named[name])
        # Several namespaces have a `len` and an `abs`; the printed form must distinguish them.
        home = self.id.partition(".")[0]
        shown = self.name if home in _AT_TOP or _TOP.get(self.name) == home else self.id
        text = printed(shown, positional, named)
        kind = self.kind if self.result is None else self._result_kind(positional, named)
        return call(self.id, positional, kind, self.nullable or skips, text, kwargs=named)

    def _result_kind(self, positional, named):
        from appdb.functions._results import kind_of

        return kind_of(self.result, {**dict(zip((one.name for one in self.parameters), positional)), **named})

    def __repr__(self):
        return f"<function {self.id}>"


class Namespace:
    """The functions of one namespace, while its module declares them: `functions` has all of them, by name.

    `needs` has the packages that all of them need (declare/packages.py), `constants` the keyword-only parameters that
    rows must not choose, `aggregates` the names of its aggregates (_media_aggregates.py), `iterators` those of its
    iterators (iterators/library.py).
    """

    __slots__ = ("name", "functions", "needs", "constants", "aggregates", "iterators")

    def __init__(self, name, needs=(), constants=(), aggregates=(), iterators=()):
        self.name = name
        self.functions = {}
        self.needs = needs
        self.constants = constants
        self.aggregates = aggregates
        self.iterators = iterators

    def function(
        self,
        examples=(),
        *,
        is_method=True,
        is_property=False,
        binding=None,
        is_trusted=False,
        needs=(),
        result=None,
    ):
        """Declares a function by its Python form: the signature is that of its type hints, which are never evaluated.

        `examples` are its tests: the arguments, then the result or the class of the exception. Values of types
        without a Python literal are written as text (python/tests/test_function_examples.py). `is_method`: it is
        also a method of its first argument; `is_property`: read without parentheses. `binding`: it takes arbitrary
        arguments; its binding in _bindings.py has this name. `is_trusted`: a column can hold each result, so results
        are not checked. `needs`: packages that it needs besides those of its namespace. `result`: the function in
        _results.py that makes the type of a result more precise.
        """

        def declare(python):
            id = f"{self.name}.{python.__name__}"
            wanted = (*self.needs, *needs)
            flags = (is_method, is_property, is_trusted)
            made = Builtin(id, python, examples, binding, *flags, wanted, self.constants, result)
            self.functions[made.name] = made
            return made

        return declare

    def unknown(self, name):
        """For the module's `__getattr__`: what another module declares, or the error for a missing function."""
        if name in self.functions:
            return self.functions[name]
        if name in self.aggregates:
            from appdb.functions import _media_aggregates

            return getattr(_media_aggregates, name)
        if name in self.iterators:
            from appdb.iterators.library import ITERATORS

            return ITERATORS[f"{self.name}.{name}"]
        if name.startswith("_"):
            raise AttributeError(name)
        from appdb._later import later_function
        from appdb.declare.errors import UnknownAttribute, did_you_mean

        coming = later_function(name, f"appdb.functions.{self.name}")
        if coming is not None:
            raise coming
        raise UnknownAttribute(
            f"appdb.functions.{self.name} has no '{name}'.",
            did_you_mean(name, [*self.functions, *self.iterators], "docs/functions.md lists its functions."),
        )


def find(id):
    """Returns the function of the library with this id: `find("json.get")`."""
    from appdb._imports import load

    namespace, _, name = id.partition(".")
    return load(f"appdb.functions.{namespace}").FUNCTIONS[name]


def _differs(id, name, given):
    from appdb.declare.errors import AppFileError

    return AppFileError(
        f"{id}() takes a constant for '{name}', because its value may name files; {given._text} differs by row.",
        "Write the value itself.",
    )


def _own_binding(name):
    from appdb.functions import _bindings

    return getattr(_bindings, name)


def signature(python):
    """Reads the hints of a function: its parameters, and its result as (kind, nullable). A function has the kind None."""
    return hinted_parameters(python), _typed(python.__annotations__["return"])


def hinted_parameters(python):
    """Reads the parameters of a function from its hints."""
    code, hints = python.__code__, python.__annotations__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    by_place = python.__defaults__ or ()
    defaults = dict(zip(names[code.co_argcount - len(by_place) :], by_place)) | (python.__kwdefaults__ or {})
    modes = [
        *["positional_only"] * code.co_posonlyargcount,
        *["positional"] * (code.co_argcount - code.co_posonlyargcount),
        *["keyword_only"] * code.co_kwonlyargcount,
    ]
    return tuple(
        Parameter(name, *_typed(hints[name]), defaults.get(name, NO_DEFAULT), mode) for name, mode in zip(names, modes)
    )


def _typed(hint):
    name, _, rest = hint.partition(" | ")
    kind = None if name.startswith("Callable[") else kind_named(name.rpartition(".")[2])
    return kind, rest == "None"
