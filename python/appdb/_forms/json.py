"""Functions of Json values. A value that the function is not made for is a TypeError, as in Python."""

import json
import math


def _concat(doc, other):
    if doc is None or other is None:
        return None
    return _a("concat", list, doc) + _a("concat", list, other)


def _contains(doc, value):
    if type(doc) is dict:
        return type(value) is str and value in doc
    return type(doc) is list and value in doc


def _count(doc, value):
    return _a("count", list, doc).count(value)


def _flatten(doc):
    flat = []
    for element in _a("flatten", list, doc):
        if type(element) is list:
            flat += element
        else:
            flat.append(element)
    return flat


def _get(doc, key, default=None):
    return doc.get(key, default) if type(doc) is dict else default


def _is_empty(doc):
    return doc is None or (type(doc) in (dict, list, str) and not doc)


def _items(doc):
    return [[key, value] for key, value in _a("items", dict, doc).items()]


def _keys(doc):
    return list(_a("keys", dict, doc))


def _values(doc):
    return list(_a("values", dict, doc).values())


def _len(doc):
    if type(doc) in (dict, list, str):
        return len(doc)
    raise TypeError(f"len wants a list, an object or text, not {_NAMES[type(doc)]}")


def _merge(doc, other):
    if doc is None or other is None:
        return None
    return {**_a("merge", dict, doc), **_a("merge", dict, other)}


def _max(doc):
    numbers = _numbers("max", doc)
    return float(max(numbers)) if numbers else None


def _min(doc):
    numbers = _numbers("min", doc)
    return float(min(numbers)) if numbers else None


def _sum(doc):
    return _total(_numbers("sum", doc))


def _mean(doc):
    numbers = _numbers("mean", doc)
    return _total(numbers) / len(numbers) if numbers else None


def _total(numbers):
    # Python's own sum() of floats differs between its versions; this one is exact until the last rounding.
    if all(type(number) is int for number in numbers):
        return float(sum(numbers))
    return math.fsum(numbers)


def _numbers(function, doc):
    for number in _a(function, list, doc):
        if type(number) not in (int, float):
            raise TypeError(f"{function} wants a list of numbers; one element is {_NAMES[type(number)]}")
    return doc


def _a(function, wanted, doc):
    if type(doc) is wanted:
        return doc
    raise TypeError(f"{function} wants {_NAMES[wanted]}, not {_NAMES[type(doc)]}")


_NAMES = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "null",
}

FORMS = {
    "concat": _concat,
    "contains": _contains,
    "count": _count,
    "dumps": json.dumps,
    "flatten": _flatten,
    "get": _get,
    "is_empty": _is_empty,
    "items": _items,
    "keys": _keys,
    "len": _len,
    "max": _max,
    "mean": _mean,
    "merge": _merge,
    "min": _min,
    "sum": _sum,
    "values": _values,
}
