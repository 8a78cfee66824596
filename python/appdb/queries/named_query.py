"""`@query`: a function that returns a query, run once with placeholders for its parameters when the file is read."""

from appdb.declare.arguments import checked
from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError
from appdb.declare.types import hint_type
from appdb.expressions.expr import Expr
from appdb.queries.query import Query
from appdb.udfs.calls import NO_DEFAULT, Parameter, bind, printed

_VARARGS, _VARKEYWORDS, _GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x04, 0x08, 0x20, 0x80, 0x200


class ParameterRef(Expr):
    """A parameter while the body of a query runs: a value that comes with each request."""

    __slots__ = ()

    def __init__(self, parameter):
        node = {"node": "parameter", "name": parameter.name}
        super().__init__(parameter.kind, parameter.nullable, node, parameter.name)


class _QueryCall(Expr):
    """A named query as a value of a column."""

    __slots__ = ()

    def __getattr__(self, name):
        if name in ("collect", "cursor", "head", "show", "tail"):
            text = self._text.partition("(")[0]
            raise AppFileError(
                f"{text}() is the value of a column, which a row computes.",
                f"Write a function without @db.query that returns the query, and run it: {text}().{name}()",
            )
        return super().__getattr__(name)


class NamedQuery:
    """A query with an id of module and name. Called with columns it gives an expression: the list of its rows."""

    def __init__(self, function, return_scalar):
        self.function = function
        self.id = f"{function.__module__}:{function.__qualname__}"
        self.__module__ = function.__module__
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.return_scalar = return_scalar
        self.source = (function.__code__.co_filename, function.__code__.co_firstlineno)
        self.parameters = _parameters(function)
        self.query = self._run_body()
        self.document = self.query.document()
        if return_scalar and len(self.document["select"]) != 1:
            raise _refused(
                function,
                f"The query {function.__name__} has return_scalar=True and selects "
                f"{len(self.document['select'])} values.",
                "Select one value, or omit return_scalar=.",
            )

    @property
    def selected_kinds(self):
        """The kinds of the selected values, in their order."""
        return [selected["expr"]["type"]["kind"] for selected in self.document["select"]]

    def _run_body(self):
        stand_ins = {parameter.name: ParameterRef(parameter) for parameter in self.parameters}
        by_place = [stand_ins.pop(p.name) for p in self.parameters if p.mode == "positional_only"]
        result = self.function(*by_place, **stand_ins)
        if hasattr(result, "__appdb_table__"):
            result = Query(result)
        if isinstance(result, Query):
            return result
        raise _refused(
            self.function,
            f"The query {self.__name__} returns {'nothing' if result is None else type(result).__name__}.",
            "Return what the verbs give: return Model.where(...).select(...)",
        )

    def __call__(self, *args, **kwargs):
        if Phase.running:
            from appdb.worker.asking import ask_query, worker_of_handlers

            if worker_of_handlers() is not None:
                return ask_query(self, args, kwargs)
            raise AppFileError(
                f"The query {self.__name__} is called inside a running function, which is not supported.",
                "Call it in a computed column and give the function its value.",
            )
        name = self.__name__
        positional, named, skips = bind(name, self.parameters, args, kwargs)
        places = [p.name for p in self.parameters]
        given = {**dict(zip(places, positional)), **named}
        node = {"node": "query", "query": self.id, "args": {key: expr._node for key, expr in given.items()}}
        text = printed(name, positional, named)
        return _QueryCall("json", skips, node, text, parts=tuple(given.values()), function=self)

    def __repr__(self):
        return f"<query {self.id}>"


@checked
def query(function=None, *, return_scalar=False):
    """Marks a function as a query: its parameters have type hints, and it returns what verbs of models give.

        @db.query
        def newest(n: int = 10):
            return Docs.order_by(Docs.made_at, asc=False).limit(n)

    With `return_scalar=True` the answer is a list of the one selected value. Raises AppFileError when a parameter has
    no type hint, or the body returns no query.
    """
    if return_scalar is not True and return_scalar is not False:
        raise AppFileError("return_scalar= is True or False.", "Write @db.query(return_scalar=True)")
    if function is None:
        return lambda marked: query(marked, return_scalar=return_scalar)
    if isinstance(function, NamedQuery):
        raise AppFileError(f"{function.__name__} is marked @query twice.", "Mark it once.")
    if not hasattr(function, "__code__"):
        name = getattr(function, "__name__", type(function).__name__)
        raise AppFileError(f"@query marks {name}, which is not a function written with def.", "Mark a def.")
    return NamedQuery(function, return_scalar)


def _parameters(function):
    code, name = function.__code__, function.__name__
    if code.co_flags & (_VARARGS | _VARKEYWORDS):
        raise _refused(function, f"The query {name} takes *args or **kwargs.", "Name each parameter, with a type hint.")
    if code.co_flags & (_GENERATOR | _COROUTINE | _ASYNC_GENERATOR):
        raise _refused(function, f"The query {name} is async or yields.", "Write it with def and return a query.")
    hints = _hints(function)
    count, keyword_only = code.co_argcount, code.co_kwonlyargcount
    defaults = dict(function.__kwdefaults__ or {})
    positional_defaults = function.__defaults__ or ()
    defaults.update(zip(code.co_varnames[count - len(positional_defaults) : count], positional_defaults))
    parameters = []
    for number, parameter in enumerate(code.co_varnames[: count + keyword_only]):
        mode = "keyword_only" if number >= count else "positional"
        if number < code.co_posonlyargcount:
            mode = "positional_only"
        if parameter not in hints:
            raise _refused(
                function,
                f"The parameter '{parameter}' of the query {name} has no type hint.",
                f"Write {parameter}: str, or another type.",
            )
        try:
            kind, nullable = hint_type(hints[parameter], f"The parameter '{parameter}' of {name}")
        except AppFileError as error:
            raise _refused(function, error.detail, error.hint) from None
        default = defaults.get(parameter, NO_DEFAULT)
        parameters.append(Parameter(parameter, kind, nullable or default is None, default, mode))
    return parameters


def _hints(function):
    try:
        hints = dict(function.__annotations__)
        for name, hint in hints.items():
            if isinstance(hint, str):
                hints[name] = eval(hint, function.__globals__)
    except NameError as error:
        raise _refused(
            function,
            f"A type hint of {function.__name__} names '{error.name}', which the module does not have.",
            "Import it at the top of the module, not only while type checking.",
        ) from None
    return hints


def _refused(function, detail, hint):
    code = function.__code__
    return AppFileError(detail, hint, (code.co_filename, code.co_firstlineno))
