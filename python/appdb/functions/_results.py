"""The types of images that functions give, as far as the file says them: `picture.resize((256, 256))` has that size.

Each function takes the arguments of a call by name and returns members of the type: `size` and `mode`.
"""


def resized(given):
    _check_size("resize", given)
    return {**_mode(given), **_sized(_constant(given.get("size")))}


def reduced(given):
    _check_size("thumbnail", given)
    return _mode(given)


def cropped(given):
    box = _constant(given.get("box"))
    is_box = _is_ints(box, 4) and box[0] < box[2] and box[1] < box[3]
    return {**_mode(given), **(_sized([box[2] - box[0], box[3] - box[1]]) if is_box else {})}


def converted(given):
    from appdb.kinds.image import MODES

    mode = _constant(given.get("mode"))
    if mode is not None and mode not in MODES:
        from appdb.media.pixels import check_mode

        near = [known for known in MODES if known.lower() == mode.lower()]
        _check(check_mode, mode, hint=f"Did you mean '{near[0]}'?" if near else "Write for example convert('RGB')")
    return {**_size(given), **({"mode": mode} if mode in MODES else {})}


def alike(given):
    """Size and mode of the first image."""
    return {**_size(given), **_mode(given)}


def of_same_mode(given):
    return _mode(given)


def grey(given):
    return {**_size(given), "mode": "L"}


def kind_of(rule, given):
    """The kind of a result by the name of its function in this module."""
    from appdb.kinds._base import Kind

    members = globals()[rule](given)
    return Kind({"kind": "image", **members}) if members else "image"


def _check_size(function, given):
    """Refuses a constant size with which each row would fail."""
    size = _constant(given.get("size"))
    if size is not None:
        from appdb.media.pixels import checked_size

        _check(checked_size, function, size, hint=f"Write for example {function}((256, 256))")


def _check(check, *args, hint):
    from appdb.declare.errors import AppFileError

    try:
        check(*args)
    except ValueError as error:
        raise AppFileError(f"{error}.", hint) from None


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
    if expr is None:
        return None
    if expr._node["node"] == "cast" and expr._node["arg"]["node"] == "literal":
        return expr._node["arg"]["value"]
    if expr._node["node"] != "literal":
        return None
    value = expr._node["value"]
    if expr._kind != "json" or value is None:
        return value
    from json import loads

    return loads(value)
