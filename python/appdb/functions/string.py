"""Functions of text, each also a method of a String column: `upper(title)` is `title.upper()`.

A null in an argument that is not nullable gives null. What each function returns is Python's own answer (_forms.py).
"""

from appdb._calls import Builtin, Parameter, bind
from appdb._errors import AppFileError, did_you_mean
from appdb._expr import lift, null

FUNCTIONS = {}
_TEXT = Parameter("self", "string", mode="positional_only")
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


def _function(name, kind, *parameters, bind=None):
    made = FUNCTIONS[name] = Builtin(f"string.{name}", kind, (_TEXT, *parameters), bind=bind)
    return made


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


capitalize = _function("capitalize", "string")
casefold = _function("casefold", "string")
lower = _function("lower", "string")
upper = _function("upper", "string")
reverse = _function("reverse", "string")
swapcase = _function("swapcase", "string")
title = _function("title", "string")
center = _function("center", "string", _WIDTH, _FILLCHAR)
ljust = _function("ljust", "string", _WIDTH, _FILLCHAR)
rjust = _function("rjust", "string", _WIDTH, _FILLCHAR)
lstrip = _function("lstrip", "string", _CHARS)
rstrip = _function("rstrip", "string", _CHARS)
strip = _function("strip", "string", _CHARS)
normalize = _function("normalize", "string", Parameter("form", "string"))
pad = _function("pad", "string", _WIDTH, Parameter("side", "string", default="left"), _FILLCHAR)
removeprefix = _function("removeprefix", "string", Parameter("prefix", "string"))
removesuffix = _function("removesuffix", "string", Parameter("suffix", "string"))
repeat = _function("repeat", "string", Parameter("n", "int"))
replace = _function("replace", "string", _SUBSTR, _REPL, _N)
replace_re = _function("replace_re", "string", _PATTERN, _REPL, _N, _FLAGS)
slice = _function("slice", "string", *_SLICE, Parameter("step", "int", True, None))
slice_replace = _function("slice_replace", "string", *_SLICE, Parameter("repl", "string", True, None))
zfill = _function("zfill", "string", _WIDTH)
fill = _function("fill", "string", _WIDTH, bind=_bind_wrap)
format = _function("format", "string", bind=_bind_format)

isalnum = _function("isalnum", "bool")
isalpha = _function("isalpha", "bool")
isascii = _function("isascii", "bool")
isdecimal = _function("isdecimal", "bool")
isdigit = _function("isdigit", "bool")
isidentifier = _function("isidentifier", "bool")
islower = _function("islower", "bool")
isnumeric = _function("isnumeric", "bool")
isspace = _function("isspace", "bool")
istitle = _function("istitle", "bool")
isupper = _function("isupper", "bool")
contains = _function("contains", "bool", _SUBSTR, _CASE)
contains_re = _function("contains_re", "bool", _PATTERN, _FLAGS)
startswith = _function("startswith", "bool", _SUBSTR)
endswith = _function("endswith", "bool", _SUBSTR)
match = _function("match", "bool", _PATTERN, _CASE, _FLAGS)
fullmatch = _function("fullmatch", "bool", _PATTERN, _CASE, _FLAGS)

len = _function("len", "int")
count = _function("count", "int", _PATTERN, _FLAGS)
find = _function("find", "int", _SUBSTR, *_RANGE)
index = _function("index", "int", _SUBSTR, *_RANGE)
rfind = _function("rfind", "int", _SUBSTR, *_RRANGE)
rindex = _function("rindex", "int", _SUBSTR, *_RRANGE)

findall = _function("findall", "json", _PATTERN, _FLAGS)
split = _function("split", "json", _SEP, _MAXSPLIT)
rsplit = _function("rsplit", "json", _SEP, _MAXSPLIT)
splitlines = _function("splitlines", "json", Parameter("keepends", "bool", default=False))
partition = _function("partition", "json", Parameter("sep", "string", default=" "))
rpartition = _function("rpartition", "json", Parameter("sep", "string", default=" "))
wrap = _function("wrap", "json", _WIDTH, bind=_bind_wrap)

METHODS = dict(FUNCTIONS)

join = FUNCTIONS["join"] = Builtin("string.join", "string", (Parameter("sep", "string"), Parameter("elements", "json")))
