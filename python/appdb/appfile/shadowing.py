"""Modules of the project that an import by their name does not give, or not always.

The project's folder comes first where Python looks, but Python looks only for what is neither built in nor loaded yet.
"""

import os
import sys

_LIBRARY = ("appdb", "msgpack")  # what a worker loads before it loads the application


def shadowed_modules(root, app):
    """Returns a warning for each module at the project's root that has the name of one of Python's or of a loaded package."""
    warnings = []
    for entry in sorted(os.listdir(root)):
        name = entry[:-3] if entry.endswith(".py") else entry
        loaded = sys.modules.get(name)
        if loaded is None and name not in sys.stdlib_module_names and name not in _LIBRARY:
            continue
        path = os.path.join(root, entry)
        path = path if entry != name else os.path.join(path, "__init__.py")
        if entry != app and not name.startswith("__") and os.path.isfile(path):
            warnings += _warning(entry, name, path, loaded)
    return warnings


def _warning(entry, name, path, loaded):
    """A list of one warning; an empty one for a module that was imported and has its name alone."""
    is_standard = name in sys.stdlib_module_names
    whose = "Python's own module" if is_standard else "the installed package"
    file = getattr(loaded, "__file__", None)
    is_other = loaded is not None and (file is None or os.path.realpath(file) != os.path.realpath(path))
    if is_other or name in sys.builtin_module_names:
        return [f"{entry} is shadowed by {whose} {name}: `import {name}` gives that one. Rename {entry}."]
    if is_standard or loaded is None:
        return [f"{entry} has the name of {whose} {name}: all get the one that is imported first. Rename {entry}."]
    return []
