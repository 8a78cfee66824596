"""Binding of calls for functions with arbitrary arguments; loaded on the first call over columns."""

from appdb.declare.errors import AppFileError, did_you_mean
from appdb.expressions.expr import Expr, lift, null
from appdb.udfs.calls import bind

# Options of textwrap that fill() and wrap() pass on; constants only.
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


def bind_format(name, parameters, args, kwargs):
    if not args:
        raise AppFileError(f"{name}() is called without its text.", "Write format('{} and {}', a, b)")
    text, _, skips = bind(name, parameters, args[:1], {})
    # A null among the other arguments does not skip the call: it prints as None.
    rest = [null("string") if arg is None else lift(arg) for arg in args[1:]]
    named = {key: null("string") if arg is None else lift(arg) for key, arg in kwargs.items()}
    return [*text, *rest], named, skips


def bind_wrap(name, parameters, args, kwargs):
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


def bind_videos(name, parameters, args, kwargs):
    """A list of columns of videos stays a list of them: Json does not hold media."""
    from appdb.functions.video import clip

    listed, kind = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else None, clip.kind
    if listed is None or not all(isinstance(one, Expr) and one._kind == kind for one in listed):
        raise AppFileError(f"{name}() takes a list of columns of videos.", f"Write {name}([first, second])")
    _, named, _ = bind(name, parameters, [[]], kwargs)
    node = {"node": "list", "items": [one._node for one in listed]}
    videos = Expr("json", False, node, f"[{', '.join(one._text for one in listed)}]", parts=listed)
    return [videos], named, any(one._nullable for one in listed)


def refuse_segments(name, parameters, args, kwargs):
    raise AppFileError(
        f"{name}() gives several files, which one cell cannot hold.",
        "Make a column of each part with clip(), or call it in a function marked @udf.",
    )
