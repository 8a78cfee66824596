"""Finds project modules that an import by name does not load, or not always.

Python searches the project's folder first, but only for modules that are neither built in nor loaded yet.
"""

import os
import sys

_LIBRARY = ("appdb", "msgpack")  # Modules that a worker loads before the application.


def shadowed_modules(root, app):
    """Returns a warning for each module at the project's root with the name of a Python module or a loaded package."""
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
    """A list with one warning; empty for an imported module with a unique name."""
    is_standard = name in sys.stdlib_module_names
    whose = "Python's own module" if is_standard else "the installed package"
    file = getattr(loaded, "__file__", None)
    is_other = loaded is not None and (file is None or os.path.realpath(file) != os.path.realpath(path))
    if is_other or name in sys.builtin_module_names:
        return [f"{entry} is shadowed by {whose} {name}: `import {name}` gives that one. Rename {entry}."]
    if is_standard or loaded is None:
        return [f"{entry} has the name of {whose} {name}: all get the one that is imported first. Rename {entry}."]
    return []
