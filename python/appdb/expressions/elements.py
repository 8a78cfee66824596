"""Json values from parts and parts of Json values, as Python objects: `dict`, `list`, `path` and `item` nodes."""


def compile_path(base, steps):
    """Returns the closure of a path: a missing key or index gives null."""
    walk = _walk(steps)
    return lambda row: walk(base(row))


def compile_item(depth):
    """Returns the closure of the current element, which comes after the row (see `compile_element`)."""
    place = -1 - depth
    return lambda row: row[place]


def compile_element(closure):
    """Returns the function for a mapping function: (row) -> (element) -> value of the expression over it."""
    return lambda row: lambda element: closure((*row, element))


def compile_dict(keys, values):
    """Returns the closure of a dict literal."""
    pairs = list(zip(keys, values))
    return lambda row: {key: value(row) for key, value in pairs}


def compile_list(values):
    """Returns the closure of a list literal."""
    return lambda row: [value(row) for value in values]


def _walk(steps):
    plain = []
    for at, step in enumerate(steps):
        if "key" in step or "index" in step:
            plain.append(step.get("key", step.get("index")))
            continue
        start, stop, by = step.get("slice", (None, None, None))
        return _spread(plain, slice(start, stop, by), _walk(steps[at + 1 :]))
    return _steps(plain)


def _steps(steps):
    def walk(value):
        for step in steps:
            if type(step) is str:
                value = value.get(step) if type(value) is dict else None
            else:
                value = value[step] if type(value) is list and -len(value) <= step < len(value) else None
        return value

    return walk


def _spread(before, part, after):
    """A slice or a wildcard: a list of the results of the further steps in each element; null without a list."""
    reach = _steps(before)

    def walk(value):
        value = reach(value)
        return [after(element) for element in value[part]] if type(value) is list else None

    return walk
