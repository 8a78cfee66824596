"""What the library's functions return: the meaning that every other form of them must agree with.

Each namespace has its module, loaded when one of its functions is first called. Arguments come as Python objects.
"""


def form(id):
    """Returns the Python form of a function of the library: `form("json.get")`."""
    namespace, _, name = id.partition(".")
    return forms(namespace)[name]


def forms(namespace):
    """Returns all Python forms of a namespace, by name."""
    from appdb._imports import load

    return load(f"appdb._forms.{namespace}").FORMS
