"""`@udf`: a function of the application that computes columns."""

from appdb._calls import NO_DEFAULT, Parameter, bind, has_columns, printed
from appdb._declaring import Phase
from appdb._errors import AppFileError, later
from appdb._expr import Expr
from appdb._types import hint_type

_VARARGS, _VARKEYWORDS, _GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x04, 0x08, 0x20, 0x80, 0x200


class Udf:
    """A function known by its module and name. Over columns it gives an expression, over plain values it just runs."""

    def __init__(self, function):
        self.function = function
        self.id = f"{function.__module__}:{function.__qualname__}"
        self.__module__ = function.__module__
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.written = _innermost(function)
        self.parameters, self.result = _signature(self.written)

    def __call__(self, *args, **kwargs):
        if Phase.running or not has_columns(args, kwargs):
            return self.function(*args, **kwargs)
        name = self.__name__
        positional, named, skips = bind(name, self.parameters, args, kwargs)
        node = {
            "node": "udf",
            "function": self.id,
            "args": [arg._node for arg in positional],
            "kwargs": {key: arg._node for key, arg in named.items()},
        }
        kind, nullable = self.result
        parts = (*positional, *named.values())
        return Expr(kind, nullable or skips, node, printed(name, positional, named), parts=parts, function=self)

    def __repr__(self):
        return f"<udf {self.id}>"


def udf(function=None, **options):
    """Marks a function as one that computes columns: `@udf` above a function with type hints, at the top of a module.

    Raises AppFileError when another process could not import the function by its module and name, when a parameter or
    the result has no hint that a column type stands for, and for options of later versions.
    """
    if options:
        raise later(f"@udf({', '.join(f'{name}=' for name in options)})", "Write @udf alone.")
    if function is None:
        raise AppFileError("@udf() marks nothing.", "Write @udf without brackets above the function.")
    if isinstance(function, Udf):
        raise AppFileError(f"{function.__name__} is marked @udf twice.", "Mark it once.")
    if not hasattr(function, "__code__"):
        name = getattr(function, "__name__", type(function).__name__)
        raise AppFileError(f"@udf marks {name}, which is not a function written with def.", "Wrap it in a def.")
    _check_importable(function)
    _check_kind(_innermost(function))
    return Udf(function)


def _check_importable(function):
    name = function.__name__
    if name == "<lambda>":
        raise _refused(function, "A lambda cannot be a UDF: no other process can import it.", "Write it with def.")
    if "<locals>" in function.__qualname__:
        raise _refused(
            function,
            f"The UDF {name} is defined inside a function; no other process can import it.",
            "Move it to the top of its module.",
        )
    if function.__qualname__ != name:
        raise _refused(function, f"The UDF {function.__qualname__} is a method.", "Move it to the top of its module.")
    if function.__module__ == "__main__":
        raise _refused(
            function,
            f"The UDF {name} stands in the file that was started as a program.",
            "Put it into a module that is imported, or start the file through `cli`.",
        )


def _check_kind(function):
    name, code = function.__name__, function.__code__
    if code.co_flags & (_COROUTINE | _ASYNC_GENERATOR):
        error = later(f"An `async def` as UDF ({name})", "Write it with def.")
        raise _refused(function, error.detail, error.hint)
    if code.co_flags & _GENERATOR:
        raise _refused(function, f"The UDF {name} yields; a UDF returns one value.", "Return a list instead.")


def _innermost(function):
    """The function as it was written, below decorators that keep it as `__wrapped__` (functools.wraps)."""
    while hasattr(getattr(function, "__wrapped__", None), "__code__"):
        function = function.__wrapped__
    return function


def _signature(function):
    code, name = function.__code__, function.__name__
    if code.co_flags & (_VARARGS | _VARKEYWORDS):
        raise _refused(function, f"The UDF {name} takes *args or **kwargs.", "Name each parameter, with a type hint.")
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
                f"The parameter '{parameter}' of {name} has no type hint.",
                f"Write {parameter}: str, or another type.",
            )
        kind, nullable = _typed(function, hints[parameter], f"The parameter '{parameter}' of {name}")
        default = defaults.get(parameter, NO_DEFAULT)
        parameters.append(Parameter(parameter, kind, nullable or default is None, default, mode))
    if "return" not in hints:
        raise _refused(function, f"The UDF {name} does not say what it returns.", "Write -> str, or another type.")
    return parameters, _typed(function, hints["return"], f"The result of {name}")


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


def _typed(function, hint, where):
    try:
        return hint_type(hint, where)
    except AppFileError as error:
        raise _refused(function, error.detail, error.hint) from None


def _refused(function, detail, hint):
    code = function.__code__
    return AppFileError(detail, hint, (code.co_filename, code.co_firstlineno))
