"""Functions of text. Modules that only some of them need are loaded by their first call."""


def _methods():
    # Methods of str whose arguments and answers are the function's own.
    names = (
        "capitalize casefold lower upper swapcase title center ljust rjust lstrip rstrip strip removeprefix"
        " removesuffix zfill isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric isspace istitle"
        " isupper startswith endswith"
    )
    return {name: getattr(str, name) for name in names.split()}


def _center(text, width, fillchar=" "):
    return text.center(width, fillchar)


def _ljust(text, width, fillchar=" "):
    return text.ljust(width, fillchar)


def _rjust(text, width, fillchar=" "):
    return text.rjust(width, fillchar)


def _strip(text, chars=None):
    return text.strip(chars)


def _lstrip(text, chars=None):
    return text.lstrip(chars)


def _rstrip(text, chars=None):
    return text.rstrip(chars)


def _reverse(text):
    return text[::-1]


def _normalize(text, form):
    import unicodedata

    return unicodedata.normalize(form, text)


def _pad(text, width, side="left", fillchar=" "):
    if side == "left":
        return text.rjust(width, fillchar)
    if side == "right":
        return text.ljust(width, fillchar)
    if side == "both":
        return text.center(width, fillchar)
    raise ValueError(f"side is 'left', 'right' or 'both', not {side!r}")


def _repeat(text, n):
    return text * n


def _replace(text, substr, repl, n=None):
    return text.replace(substr, repl, -1 if n is None else n)


def _replace_re(text, pattern, repl, n=None, flags=0):
    import re

    if n == 0:
        return text
    return re.sub(pattern, repl, text, count=0 if n is None or n < 0 else n, flags=flags)


def _slice(text, start=None, stop=None, step=None):
    return text[start:stop:step]


def _slice_replace(text, start=None, stop=None, repl=None):
    head = "" if start is None else text[:start]
    tail = "" if stop is None else text[stop:]
    return head + (repl or "") + tail


def _fill(text, width, **options):
    import textwrap

    return textwrap.fill(text, width, **options)


def _wrap(text, width, **options):
    import textwrap

    return textwrap.wrap(text, width, **options)


def _format(text, *args, **kwargs):
    return text.format(*args, **kwargs)


def _join(sep, elements):
    if not isinstance(elements, list):
        raise TypeError(f"join wants a list of text, not {type(elements).__name__}")
    return sep.join(elements)


def _contains(text, substr, case=True):
    return substr in text if case else substr.lower() in text.lower()


def _contains_re(text, pattern, flags=0):
    import re

    return re.search(pattern, text, flags) is not None


def _match(text, pattern, case=True, flags=0):
    import re

    return re.match(pattern, text, flags if case else flags | re.IGNORECASE) is not None


def _fullmatch(text, pattern, case=True, flags=0):
    import re

    return re.fullmatch(pattern, text, flags if case else flags | re.IGNORECASE) is not None


def _count(text, pattern, flags=0):
    import re

    return sum(1 for _ in re.finditer(pattern, text, flags))


def _find(text, substr, start=0, end=None):
    return text.find(substr, start, end)


def _rfind(text, substr, start=0, end=None):
    return text.rfind(substr, start, end)


def _index(text, substr, start=0, end=None):
    return text.index(substr, start, end)


def _rindex(text, substr, start=0, end=None):
    return text.rindex(substr, start, end)


def _findall(text, pattern, flags=0):
    import re

    return [list(found) if isinstance(found, tuple) else found for found in re.findall(pattern, text, flags)]


def _split(text, sep=None, maxsplit=-1):
    return text.split(sep, maxsplit)


def _rsplit(text, sep=None, maxsplit=-1):
    return text.rsplit(sep, maxsplit)


def _splitlines(text, keepends=False):
    return text.splitlines(keepends)


def _partition(text, sep=" "):
    return list(text.partition(sep))


def _rpartition(text, sep=" "):
    return list(text.rpartition(sep))


FORMS = {
    **_methods(),
    "center": _center,
    "ljust": _ljust,
    "rjust": _rjust,
    "strip": _strip,
    "lstrip": _lstrip,
    "rstrip": _rstrip,
    "reverse": _reverse,
    "normalize": _normalize,
    "pad": _pad,
    "repeat": _repeat,
    "replace": _replace,
    "replace_re": _replace_re,
    "slice": _slice,
    "slice_replace": _slice_replace,
    "fill": _fill,
    "wrap": _wrap,
    "format": _format,
    "join": _join,
    "contains": _contains,
    "contains_re": _contains_re,
    "match": _match,
    "fullmatch": _fullmatch,
    "len": len,
    "count": _count,
    "find": _find,
    "rfind": _rfind,
    "index": _index,
    "rindex": _rindex,
    "findall": _findall,
    "split": _split,
    "rsplit": _rsplit,
    "splitlines": _splitlines,
    "partition": _partition,
    "rpartition": _rpartition,
}
