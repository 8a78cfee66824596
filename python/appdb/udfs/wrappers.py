"""Wrappers of `functools` that no pickle can copy: a program sends what they wrap, and a worker wraps it again."""

import functools

_DISPATCHER = functools.singledispatch(lambda value: value).__code__


def reduced(value, is_own):
    """How a pickle writes a wrapper: (function of this module, its arguments); None for other values.

    `is_own(value)`: whether no worker can import it.
    """
    if type(value) is functools._lru_cache_wrapper and is_own(value):
        return cached, (value.__wrapped__, value.cache_parameters())
    if getattr(value, "__code__", None) is _DISPATCHER and is_own(value):
        return dispatching, (dict(value.registry),)
    if type(value) is functools.cached_property:
        return property_of, (value.func, value.attrname)
    return None


def cached(function, parameters):
    """A function with an empty `lru_cache`."""
    return functools.lru_cache(**parameters)(function)


def dispatching(registry):
    """A function marked `singledispatch`, with its functions by class."""
    made = functools.singledispatch(registry[object])
    for cls, function in registry.items():
        made.register(cls, function)
    return made


def property_of(function, name):
    """A `cached_property` of a class that exists already."""
    made = functools.cached_property(function)
    made.attrname = name
    return made
