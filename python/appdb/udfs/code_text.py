"""The text that identifies the code of a user function: its own code, and the parts of its module that it calls."""

_PLAIN = (str, bytes, int, float, bool, type(None))


def code_text(written, places):
    """The function's lines, then those of the functions and classes of its module that it reaches, and the plain
    constants that it names. Another module's code is identified by its file's digest."""
    texts = [places.source_text(written)]
    module = _module_of(written)
    seen = {id(_innermost(written))}
    waiting = [written]
    while waiting:
        for name, value in _named(waiting.pop()):
            found = _innermost(value)
            if type(found) in _PLAIN or (type(found) in (tuple, frozenset) and all(type(x) in _PLAIN for x in found)):
                shown = sorted(map(repr, found)) if type(found) is frozenset else repr(found)
                texts.append(f"{name} = {shown}")
            elif id(found) not in seen and getattr(found, "__module__", None) == module and _is_code(found):
                seen.add(id(found))
                waiting.append(found)
                texts.append(_text(found, places))
    return "\n".join([texts[0], *sorted(set(texts[1:]))])


def named_values(owner):
    """(name, value) of what a function's or a class's code uses: globals, values around it, defaults."""
    written = _innermost(owner)
    yield from _named(written)
    for function in _functions(written):
        closed = [cell.cell_contents for cell in function.__closure__ or ()]
        yield from zip(function.__code__.co_freevars, closed)
        yield from zip(function.__code__.co_varnames, function.__defaults__ or ())


def _named(written):
    """(name, value) of the globals in a function's or a class's code."""
    for function in _functions(written):
        names, codes = set(), [function.__code__]
        while codes:
            code = codes.pop()
            names.update(code.co_names)
            codes.extend(const for const in code.co_consts if hasattr(const, "co_code"))
        for name in sorted(names):
            if name in function.__globals__:
                yield name, function.__globals__[name]


def _functions(written):
    found = _innermost(written)
    if hasattr(found, "__code__"):
        return [found]
    members = vars(found).values() if isinstance(found, type) else ()
    return [member for member in map(_innermost, members) if hasattr(member, "__code__")]


def _innermost(value):
    """The object below markers and decorators: `made` is the class of an aggregate, `__wrapped__` a function's own."""
    value = getattr(value, "made", value)
    while hasattr(getattr(value, "__wrapped__", None), "__code__"):
        value = value.__wrapped__
    return value


def _module_of(written):
    return getattr(_innermost(written), "__module__", None)


def _is_code(value):
    return hasattr(value, "__code__") or (isinstance(value, type) and not hasattr(value, "__appdb_table__"))


def _text(found, places):
    if hasattr(found, "__code__"):
        return places.source_text(found)
    return "\n".join(places.source_text(function) for function in _functions(found))
