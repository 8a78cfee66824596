"""`@udf`: a function of the application that computes columns; its overloads, and `.using()`."""

from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError, did_you_mean, later, nearest
from appdb.expressions.expr import Expr
from appdb.udfs.calls import bind, has_columns, in_order, printed
from appdb.udfs.programs import function_id, place_of_id
from appdb.udfs.signatures import COROUTINE, check_body, check_importable, checked_timeout, innermost, refused, signature_of

_MAX_BATCH = 10_000


class Overload:
    """One signature of a UDF. `number` counts from 0; ids after the first end in `#1`, `#2` ..."""

    def __init__(self, udf, function, signature, number):
        self.udf = udf
        self.function = function
        self.written = innermost(function)
        self.signature = signature
        self.parameters = signature.parameters
        self.result = signature.result
        self.number = number
        self.id = udf.id if number == 0 else f"{udf.id}#{number}"
        self.is_async = bool(self.written.__code__.co_flags & COROUTINE)
        self.batch_size = udf.batch_size
        self.timeout_s = udf.timeout_s
        self.resource_pool = udf.resource_pool

    kind = "scalar"

    @property
    def owner(self):
        """The object in the module under the function's name."""
        return self.udf

    @property
    def is_concurrent(self):
        """True when many of its calls run at once, in parallel with other functions."""
        return self.is_async or self.batch_size is not None or self.resource_pool is not None

    def call(self, args, kwargs):
        """The expression of a call over columns. Raises AppFileError for arguments that do not match."""
        name = self.udf.__name__
        positional, named, skips = bind(name, self.parameters, args, kwargs)
        if self.batch_size is not None:
            self._check_constants(positional, named)
        node = {
            "node": "udf",
            "function": self.id,
            "args": [arg._node for arg in positional],
            "kwargs": {key: arg._node for key, arg in named.items()},
        }
        kind, nullable = self.result
        parts = (*positional, *named.values())
        return Expr(kind, nullable or skips, node, printed(name, positional, named), parts=parts, function=self)

    def _check_constants(self, positional, named):
        places = [p.name for p in self.parameters if p.mode != "keyword_only"]
        for name, arg in (*zip(places, positional), *named.items()):
            if name not in self.signature.batched and arg._reads:
                raise AppFileError(
                    f"{self.udf.__name__}() gets one '{name}' for all rows of a batch; {arg._text} differs by row.",
                    f"Give it a constant, or declare the parameter as {name}: db.Batch[...]",
                )


class Udf:
    """A function with an id of module and name. Over columns it gives an expression, over plain values it just runs."""

    def __init__(self, function, batch_size=None, timeout_s=None, resource_pool=None, substitutions=(None,)):
        self.function = function
        self.id = function_id(function)
        self.__module__ = function.__module__
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.batch_size = batch_size
        self.timeout_s = timeout_s
        self.resource_pool = resource_pool
        self.overloads = []
        for substitution in substitutions:
            self._add(function, substitution)
        self.parameters, self.result = self.overloads[0].parameters, self.overloads[0].result

    def overload(self, function):
        """Adds a signature: `@f.overload` above another def. A call takes the one with the nearest types."""
        if not hasattr(function, "__code__"):
            raise AppFileError(f"@{self.__name__}.overload marks no function written with def.", "Write it with def.")
        check_body(innermost(function))
        is_inside = "<locals>" in function.__qualname__ and place_of_id(self.id) is None
        if function.__module__ != self.__module__ or is_inside:
            detail = f"An overload of {self.__name__} is not at the top level of its module."
            raise refused(innermost(function), detail, f"Put it below {self.__name__}, in the module {self.__module__}.")
        self._add(function, None)
        return self

    def using(self, **fixed):
        """The function with some parameters fixed: `embed.using(model="small")`."""
        return Using(self, fixed)

    def __call__(self, *args, **kwargs):
        if Phase.running or not has_columns(args, kwargs):
            if len(self.overloads) == 1:
                return self.function(*args, **kwargs)
            return self._run(args, kwargs)
        if len(self.overloads) == 1:
            return self.overloads[0].call(args, kwargs)
        overload = self._choose(args, kwargs)
        if overload is not None:
            return overload.call(args, kwargs)
        raise AppFileError(
            f"{self.__name__}({_shown(args, kwargs)}) matches none of the signatures of {self.__name__}.",
            f"It has: {'; '.join(overload.signature.shown(self.__name__) for overload in self.overloads)}",
        )

    def _run(self, args, kwargs):
        """Runs the overload that matches plain values, by the same rule as for columns."""
        overload = self._choose(args, kwargs)
        return (self if overload is None else overload).function(*args, **kwargs)

    def _choose(self, args, kwargs):
        from appdb.udfs.overloads import choose

        return choose(self.__name__, self.overloads, args, kwargs)

    def _add(self, function, substitution):
        signature = signature_of(innermost(function), "UDF", 0, substitution)
        _check_batches(innermost(function), signature, self.batch_size)
        self.overloads.append(Overload(self, function, signature, len(self.overloads)))
        if len(self.overloads) > 1:
            from appdb.udfs.overloads import check_pairs

            check_pairs(self.__name__, self.overloads)

    def __repr__(self):
        return f"<udf {self.id}>"


class Using:
    """A UDF with some fixed parameters. Prints, and computes, like the call with them written out."""

    def __init__(self, udf, fixed):
        known = [parameter.name for overload in udf.overloads for parameter in overload.parameters]
        for name, value in fixed.items():
            if name not in known:
                raise AppFileError(
                    f"{udf.__name__} has no parameter '{name}' that .using() could fix.",
                    did_you_mean(name, known, f"It takes: {', '.join(known) or 'nothing'}"),
                )
            if isinstance(value, Expr):
                raise AppFileError(
                    f"{udf.__name__}.using({name}=...) fixes a constant, not the column {value._text}.",
                    f"Give the column in the call: {udf.__name__}(..., {name}={value._text})",
                )
        self.udf = udf
        self.fixed = fixed
        self.__name__ = udf.__name__

    def using(self, **fixed):
        """Fixes further parameters."""
        return Using(self.udf, {**self.fixed, **fixed})

    def __call__(self, *args, **kwargs):
        for name in kwargs:
            if name in self.fixed:
                raise AppFileError(
                    f"{self.__name__}() is given '{name}', which .using({name}=...) has fixed.", "Give it once."
                )
        args, kwargs = in_order(self.__name__, self.udf.parameters, args, {**self.fixed, **kwargs}, self.fixed)
        return self.udf(*args, **kwargs)

    def __repr__(self):
        return f"<udf {self.udf.id} using {', '.join(f'{k}={v!r}' for k, v in self.fixed.items())}>"


def udf(function=None, *, batch_size=None, timeout=None, resource_pool=None, type_substitutions=None, **options):
    """Marks a function that computes columns: `@udf` above a function with type hints, at the top of a module.

    `async def` allows many concurrent calls. `batch_size` passes lists of rows (`db.Batch[T]`), `timeout` limits one
    call (seconds), `resource_pool` names the pool that limits its calls, `type_substitutions` gives one signature
    for each dict from type variables to types. Raises AppFileError when another process could not import the
    function by module and name, when a hint is not a column type, and for unsupported options.
    """
    if options:
        name = next(iter(options))
        known = "batch_size timeout resource_pool type_substitutions".split()
        if nearest(name, known) is not None:
            raise AppFileError(f"@udf has no option '{name}'.", did_you_mean(name, known, ""))
        raise later(f"@udf({', '.join(f'{name}=' for name in options)})", "Omit it.")
    settings = {
        "batch_size": _batch_size(batch_size),
        "timeout_s": checked_timeout("udf", timeout),
        "resource_pool": _pool_name(resource_pool),
        "substitutions": _substitutions(type_substitutions),
    }
    if function is None:
        return lambda marked: _mark(marked, settings)
    return _mark(function, settings)


def _mark(function, settings):
    if isinstance(function, Udf):
        raise AppFileError(f"{function.__name__} is marked @udf twice.", "Mark it once.")
    if not hasattr(function, "__code__"):
        name = getattr(function, "__name__", type(function).__name__)
        raise AppFileError(f"@udf marks {name}, which is not a function written with def.", "Wrap it in a def.")
    check_importable(function, "a UDF", may_travel=True)
    check_body(innermost(function))
    return Udf(function, **settings)


def _check_batches(function, signature, batch_size):
    name = function.__name__
    if batch_size is None:
        if signature.batched or signature.result_batched:
            detail = f"The UDF {name} has db.Batch in its signature and no batch_size."
            raise refused(function, detail, "Write @udf(batch_size=32) above it.")
        return
    if not signature.batched:
        detail = f"The UDF {name} has a batch_size and no parameter that is a batch."
        raise refused(function, detail, "Declare parameters that differ by row as db.Batch[str], or another type.")
    if not signature.result_batched:
        detail = f"The UDF {name} has a batch_size; its result must be a batch too."
        raise refused(function, detail, "Write -> db.Batch[str], or another type, and return a list.")


def _batch_size(value):
    if value is not None and (type(value) is not int or not 1 <= value <= _MAX_BATCH):
        raise AppFileError(f"@udf has batch_size={value!r}.", f"Give a whole number from 1 to {_MAX_BATCH}.")
    return value


def _pool_name(value):
    from appdb.declare.pools import ResourcePool

    if value is None or isinstance(value, str):
        return value
    if isinstance(value, ResourcePool):
        return value.name
    raise AppFileError(f"@udf has resource_pool={value!r}.", 'Give a db.ResourcePool, or its name: "openai".')


def _substitutions(value):
    if value is None:
        return (None,)
    if not isinstance(value, (list, tuple)) or not value or not all(isinstance(one, dict) and one for one in value):
        raise AppFileError(
            f"@udf has type_substitutions={value!r}.", "Give a list of dicts: [{T: db.Int}, {T: db.String}]"
        )
    return tuple(value)


def _shown(args, kwargs):
    shown = [_one(arg) for arg in args] + [f"{name}={_one(arg)}" for name, arg in kwargs.items()]
    return ", ".join(shown)


def _one(arg):
    return arg._text if isinstance(arg, Expr) else repr(arg)


