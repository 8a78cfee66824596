"""Functions of text, each also a method of a String column: `upper(title)` is `title.upper()`.

A null in an argument that is not nullable gives null. What each function returns is Python's own answer (_forms/string.py).
"""

from appdb._calls import Parameter, bind
from appdb._errors import AppFileError, did_you_mean
from appdb._expr import lift, null
from appdb.functions._builtin import Namespace

_string = Namespace("string", "string")
_PATTERN = Parameter("pattern", "string")
_SUBSTR = Parameter("substr", "string")
_CASE = Parameter("case", "bool", default=True)
_FLAGS = Parameter("flags", "int", default=0)
_WIDTH = Parameter("width", "int")
_FILLCHAR = Parameter("fillchar", "string", default=" ")
_CHARS = Parameter("chars", "string", True, None)
_N = Parameter("n", "int", True, None)
_REPL = Parameter("repl", "string")
_SEP = Parameter("sep", "string", True, None)
_MAXSPLIT = Parameter("maxsplit", "int", default=-1)
_RANGE = (Parameter("start", "int", default=0), Parameter("end", "int", True, None))
_RRANGE = (Parameter("start", "int", True, 0), Parameter("end", "int", True, None))
_SLICE = (Parameter("start", "int", True, None), Parameter("stop", "int", True, None))

# Options of textwrap that fill() and wrap() hand on; constants only.
_WRAP_OPTIONS = {
    "initial_indent": str,
    "subsequent_indent": str,
    "expand_tabs": bool,
    "replace_whitespace": bool,
    "fix_sentence_endings": bool,
    "break_long_words": bool,
    "drop_whitespace": bool,
    "break_on_hyphens": bool,
    "tabsize": int,
    "max_lines": int,
    "placeholder": str,
}


def _bind_format(name, parameters, args, kwargs):
    if not args:
        raise AppFileError(f"{name}() is called without its text.", "Write format('{} and {}', a, b)")
    text, _, skips = bind(name, parameters, args[:1], {})
    # A null among the others is no reason to skip: it prints as None.
    rest = [null("string") if arg is None else lift(arg) for arg in args[1:]]
    named = {key: null("string") if arg is None else lift(arg) for key, arg in kwargs.items()}
    return [*text, *rest], named, skips


def _bind_wrap(name, parameters, args, kwargs):
    options = {key: kwargs[key] for key in kwargs if key not in ("self", "width")}
    for key, value in options.items():
        if key not in _WRAP_OPTIONS:
            raise AppFileError(
                f"{name}() has no option '{key}'.",
                did_you_mean(key, _WRAP_OPTIONS, f"Options: {', '.join(_WRAP_OPTIONS)}"),
            )
        if type(value) is not _WRAP_OPTIONS[key]:
            wanted = _WRAP_OPTIONS[key].__name__
            raise AppFileError(f"The option '{key}' of {name}() is a constant {wanted}.", "Write the value itself.")
    bound = {key: kwargs[key] for key in kwargs if key in ("self", "width")}
    positional, _, skips = bind(name, parameters, args, bound)
    return positional, {key: lift(options[key]) for key in sorted(options)}, skips


capitalize = _string.method("capitalize", "string")
casefold = _string.method("casefold", "string")
lower = _string.method("lower", "string")
upper = _string.method("upper", "string")
reverse = _string.method("reverse", "string")
swapcase = _string.method("swapcase", "string")
title = _string.method("title", "string")
center = _string.method("center", "string", _WIDTH, _FILLCHAR)
ljust = _string.method("ljust", "string", _WIDTH, _FILLCHAR)
rjust = _string.method("rjust", "string", _WIDTH, _FILLCHAR)
lstrip = _string.method("lstrip", "string", _CHARS)
rstrip = _string.method("rstrip", "string", _CHARS)
strip = _string.method("strip", "string", _CHARS)
normalize = _string.method("normalize", "string", Parameter("form", "string"))
pad = _string.method("pad", "string", _WIDTH, Parameter("side", "string", default="left"), _FILLCHAR)
removeprefix = _string.method("removeprefix", "string", Parameter("prefix", "string"))
removesuffix = _string.method("removesuffix", "string", Parameter("suffix", "string"))
repeat = _string.method("repeat", "string", Parameter("n", "int"))
replace = _string.method("replace", "string", _SUBSTR, _REPL, _N)
replace_re = _string.method("replace_re", "string", _PATTERN, _REPL, _N, _FLAGS)
slice = _string.method("slice", "string", *_SLICE, Parameter("step", "int", True, None))
slice_replace = _string.method("slice_replace", "string", *_SLICE, Parameter("repl", "string", True, None))
zfill = _string.method("zfill", "string", _WIDTH)
fill = _string.method("fill", "string", _WIDTH, bind=_bind_wrap)
format = _string.method("format", "string", bind=_bind_format)

isalnum = _string.method("isalnum", "bool")
isalpha = _string.method("isalpha", "bool")
isascii = _string.method("isascii", "bool")
isdecimal = _string.method("isdecimal", "bool")
isdigit = _string.method("isdigit", "bool")
isidentifier = _string.method("isidentifier", "bool")
islower = _string.method("islower", "bool")
isnumeric = _string.method("isnumeric", "bool")
isspace = _string.method("isspace", "bool")
istitle = _string.method("istitle", "bool")
isupper = _string.method("isupper", "bool")
contains = _string.method("contains", "bool", _SUBSTR, _CASE)
contains_re = _string.method("contains_re", "bool", _PATTERN, _FLAGS)
startswith = _string.method("startswith", "bool", _SUBSTR)
endswith = _string.method("endswith", "bool", _SUBSTR)
match = _string.method("match", "bool", _PATTERN, _CASE, _FLAGS)
fullmatch = _string.method("fullmatch", "bool", _PATTERN, _CASE, _FLAGS)

len = _string.method("len", "int")
count = _string.method("count", "int", _PATTERN, _FLAGS)
find = _string.method("find", "int", _SUBSTR, *_RANGE)
index = _string.method("index", "int", _SUBSTR, *_RANGE)
rfind = _string.method("rfind", "int", _SUBSTR, *_RRANGE)
rindex = _string.method("rindex", "int", _SUBSTR, *_RRANGE)

findall = _string.method("findall", "json", _PATTERN, _FLAGS)
split = _string.method("split", "json", _SEP, _MAXSPLIT)
rsplit = _string.method("rsplit", "json", _SEP, _MAXSPLIT)
splitlines = _string.method("splitlines", "json", Parameter("keepends", "bool", default=False))
partition = _string.method("partition", "json", Parameter("sep", "string", default=" "))
rpartition = _string.method("rpartition", "json", Parameter("sep", "string", default=" "))
wrap = _string.method("wrap", "json", _WIDTH, bind=_bind_wrap)

METHODS = dict(_string.functions)

join = _string.function("join", "string", Parameter("sep", "string"), Parameter("elements", "json"))

FUNCTIONS = _string.functions

__getattr__ = _string.unknown
