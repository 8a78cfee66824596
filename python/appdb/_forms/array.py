"""Functions of arrays, which are NumPy's where it is installed and nested lists where it is not."""


def _to_list(value):
    return value if type(value) is list else value.tolist()


FORMS = {"to_list": _to_list}
