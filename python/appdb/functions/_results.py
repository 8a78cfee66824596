"""The types of images that functions give, as far as the file says them: `picture.resize((256, 256))` has that size.

Each function takes the arguments of a call by name and returns members of the type: `size` and `mode`.
"""


def resized(given):
    return {**_mode(given), **_sized(_checked_size("resize", given))}


def reduced(given):
    _checked_size("thumbnail", given)
    return _mode(given)


def cropped(given):
    box = _constant(given.get("box"))
    is_box = _is_ints(box, 4) and box[0] < box[2] and box[1] < box[3]
    return {**_mode(given), **(_sized([box[2] - box[0], box[3] - box[1]]) if is_box else {})}


def converted(given):
    from appdb.kinds.image import MODES

    mode = _constant(given.get("mode"))
    return {**_size(given), **({"mode": mode} if mode in MODES else {})}


def alike(given):
    """Size and mode of the first image."""
    return {**_size(given), **_mode(given)}


def of_same_mode(given):
    return _mode(given)


def grey(given):
    return {**_size(given), "mode": "L"}


def _checked_size(function, given):
    """The constant size of a call, None for one that differs by row. Raises AppFileError for another form."""
    size = _constant(given.get("size"))
    if size is None or (type(size) is list and len(size) == 2):
        return size
    from appdb.declare.errors import AppFileError

    shown = given["size"]._text
    raise AppFileError(f"{function}() takes a size of (width, height), not {shown}.", f"Write .{function}((256, 256))")


def kind_of(rule, given):
    """The kind of a result by the name of its function in this module."""
    from appdb.kinds._base import Kind

    members = globals()[rule](given)
    return Kind({"kind": "image", **members}) if members else "image"


def _type(given):
    return next(iter(given.values()))._node["type"]


def _size(given):
    size = _type(given).get("size")
    return {} if size is None else {"size": size}


def _mode(given):
    mode = _type(given).get("mode")
    return {} if mode is None else {"mode": mode}


def _sized(size):
    return {"size": list(size)} if _is_ints(size, 2) and all(side > 0 for side in size) else {}


def _is_ints(value, count):
    return type(value) is list and len(value) == count and all(type(one) is int for one in value)


def _constant(expr):
    """The value of a constant argument; None for others."""
    if expr is None or expr._node["node"] != "literal":
        return None
    value = expr._node["value"]
    if expr._kind != "json" or value is None:
        return value
    from json import loads

    return loads(value)
