"""Packages that functions and types need, and that the base library does not have."""

from appdb.declare.errors import AppFileError

# By the package's name: the module that Python imports, and the line for requirements.txt.
_PACKAGES = {
    "pillow": ("PIL", "pillow>=11"),
    "av": ("av", "av>=15"),
    "numpy": ("numpy", "numpy>=2"),
    "pypdfium2": ("pypdfium2", "pypdfium2>=5"),
    "tiktoken": ("tiktoken", "tiktoken>=0.9"),
}
_found = set()


def require(packages, what):
    """Raises AppFileError if the environment, which also runs the workers, lacks a package that `what` needs.

    Looks for the modules on the path and imports none.
    """
    lacking = [name for name in packages if not _is_there(name)]
    if not lacking:
        return
    lines = [_PACKAGES[name][1] for name in lacking]
    noun = "package" if len(lacking) == 1 else "packages"
    raise AppFileError(
        f"{what} needs the {noun} {' and '.join(lacking)}, which the environment lacks.",
        f"Add to requirements.txt: {' and '.join(lines)}",
    )


def _is_there(name):
    if name not in _found:
        import sys
        from importlib.machinery import PathFinder

        module = _PACKAGES[name][0]
        is_there = sys.modules[module] is not None if module in sys.modules else PathFinder.find_spec(module)
        if not is_there:
            return False
        _found.add(name)
    return True
