"""Signatures of user functions: parameters and result from type hints, and checks of the functions."""

import sys

from appdb.declare.declaring import Phase
from appdb.declare.errors import AppFileError
from appdb.declare.types import hint_type
from appdb.udfs.calls import NO_DEFAULT, Parameter

VARARGS, VARKEYWORDS, GENERATOR, COROUTINE, ASYNC_GENERATOR = 0x04, 0x08, 0x20, 0x80, 0x200
_MAX_TIMEOUT_S = 3600


class Batch:
    """A list with a value for each row: `Batch[str]` as the hint of a parameter or result, with @udf(batch_size=...)."""

    def __class_getitem__(cls, item):
        made = object.__new__(cls)
        made.item = item
        return made

    def __reduce__(self):
        return Batch.__class_getitem__, (self.item,)

    def __new__(cls, *args, **kwargs):
        raise AppFileError("Batch is a type hint and is not called.", "Write for example texts: db.Batch[str]")

    def __or__(self, other):
        raise AppFileError(
            "A batch itself cannot be None.", "Let its values be: db.Batch[str | None], without '| None' behind it."
        )

    __ror__ = __or__


class Signature:
    """Parameters, and the result as (kind, nullable). `batched` has the names of the list parameters."""

    __slots__ = ("parameters", "result", "batched", "result_batched")

    def __init__(self, parameters, result, batched=(), result_batched=False):
        self.parameters = parameters
        self.result = result
        self.batched = batched
        self.result_batched = result_batched

    def shown(self, name):
        """Prints the signature for messages: `f(x: Int, y: String)`."""
        from appdb.declare.types import display

        return f"{name}({', '.join(f'{p.name}: {display(p.kind, p.nullable)}' for p in self.parameters)})"


def innermost(function):
    """The function as written, below decorators that keep it as `__wrapped__` (functools.wraps)."""
    while hasattr(getattr(function, "__wrapped__", None), "__code__"):
        function = function.__wrapped__
    return function


def check_importable(function, what, place=None, may_travel=False):
    """Refuses functions that another process could not find by module and name. `place` is a class's, else the
    function's own. `may_travel`: requests of a program send them by value, so only application files refuse them."""
    name, qualified = function.__name__, function.__qualname__
    if may_travel and not Phase.reading and "." not in qualified.rpartition("<locals>.")[2]:
        return
    if name == "<lambda>":
        raise refused(function, f"A lambda cannot be {what}: no other process can import it.", "Write it with def.")
    if "<locals>" in qualified:
        detail = f"The {_noun(what)} {name} is defined inside a function; no other process can import it."
        raise refused(function, detail, "Move it to the top of its module; pass what it takes from around it.", place)
    if qualified != name:
        detail = f"The {_noun(what)} {qualified} is a method."
        raise refused(function, detail, "Move it to the top of its module.", place)
    if function.__module__ == "__main__":
        if not hasattr(sys.modules.get("__main__"), "__file__"):
            detail = f"The {_noun(what)} {name} is in a notebook or session, which has no file."
            hint = "Put it into a module that is imported, for example functions.py in the same folder."
            raise refused(function, detail, hint, place)
        detail = f"The {_noun(what)} {name} is in the file that was started as a program."
        hint = "Put it into a module that is imported, or start the file through `cli`."
        raise refused(function, detail, hint, place)


def _noun(what):
    return what.rpartition(" ")[2]


def check_body(function):
    """Refuses functions that yield."""
    if function.__code__.co_flags & (GENERATOR | ASYNC_GENERATOR):
        detail = f"The UDF {function.__name__} yields; a UDF returns one value."
        raise refused(function, detail, "Return a list instead, or mark it @db.iterator.")


def signature_of(function, what="UDF", skip=0, substitution=None, wants_result=True):
    """Reads a function's signature. `skip` omits leading parameters (self); `substitution` replaces type variables.

    Raises AppFileError if a parameter or the result has no hint of a column type.
    """
    parameters, batched = parameters_of(function, what, skip, substitution)
    hints = hints_of(function)
    name = function.__name__
    if "return" not in hints:
        if not wants_result:
            return Signature(parameters, None, batched)
        raise refused(function, f"The {what} {name} does not say what it returns.", "Write -> str, or another type.")
    kind, nullable, is_batched = _typed(function, hints["return"], f"The result of {name}", substitution)
    return Signature(parameters, (kind, nullable), batched, is_batched)


def parameters_of(function, what, skip=0, substitution=None):
    """Reads a function's parameters: (parameters, names of those with a Batch hint)."""
    code, name = function.__code__, function.__name__
    if code.co_flags & (VARARGS | VARKEYWORDS):
        detail = f"The {what} {name} takes *args or **kwargs."
        raise refused(function, detail, "Name each parameter, with a type hint.")
    hints = hints_of(function)
    count, keyword_only = code.co_argcount, code.co_kwonlyargcount
    defaults = dict(function.__kwdefaults__ or {})
    positional_defaults = function.__defaults__ or ()
    defaults.update(zip(code.co_varnames[count - len(positional_defaults) : count], positional_defaults))
    parameters, batched = [], []
    for number, parameter in enumerate(code.co_varnames[: count + keyword_only]):
        if number < skip:
            continue
        mode = "keyword_only" if number >= count else "positional"
        if number < code.co_posonlyargcount:
            mode = "positional_only"
        if parameter not in hints:
            detail = f"The parameter '{parameter}' of {name} has no type hint."
            raise refused(function, detail, f"Write {parameter}: str, or another type.")
        where = f"The parameter '{parameter}' of {name}"
        kind, nullable, is_batched = _typed(function, hints[parameter], where, substitution)
        if is_batched:
            batched.append(parameter)
        default = defaults.get(parameter, NO_DEFAULT)
        parameters.append(Parameter(parameter, kind, nullable or default is None, default, mode))
    return parameters, tuple(batched)


def hints_of(function):
    """The type hints of a function, evaluated. Raises AppFileError for a name that its module lacks."""
    try:
        hints = dict(function.__annotations__)
        for name, hint in hints.items():
            if isinstance(hint, str):
                hints[name] = eval(hint, function.__globals__)
    except NameError as error:
        detail = f"A type hint of {function.__name__} names '{error.name}', which the module does not have."
        raise refused(function, detail, "Import it at the top of the module, not only while type checking.") from None
    return hints


def _typed(function, hint, where, substitution):
    is_batched = isinstance(hint, Batch)
    if is_batched:
        hint = hint.item
    if substitution:
        hint = _substituted(hint, substitution)
    try:
        return (*hint_type(hint, where), is_batched)
    except AppFileError as error:
        raise refused(function, error.detail, error.hint) from None


def _substituted(hint, substitution):
    """Replaces a type variable, also in `T | None`."""
    if type(hint).__name__ in ("UnionType", "Union", "_UnionGenericAlias"):
        found = None
        for member in hint.__args__:
            member = _substituted(member, substitution)
            found = member if found is None else found | member
        return found
    return substitution.get(hint, hint) if type(hint).__name__ == "TypeVar" else hint


def refused(function, detail, hint, place=None):
    """Makes the error of a refused function, at its line."""
    if place is None:
        code = function.__code__
        place = (code.co_filename, code.co_firstlineno)
    return AppFileError(detail, hint, place)


def checked_timeout(marker, value):
    """The seconds of `timeout=` of a marker. Raises AppFileError."""
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 < value <= _MAX_TIMEOUT_S:
        raise AppFileError(
            f"@{marker} has timeout={value!r}.", f"Give seconds, more than 0 and at most {_MAX_TIMEOUT_S}."
        )
    return float(value)
