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
LINES_BY_MODULE = dict(_PACKAGES.values())
_found = set()


class PackagesLacking(AppFileError):
    """A package that the environment lacks. `lines` has what requirements.txt needs."""

    def __init__(self, detail, lines):
        super().__init__(detail, f"Add to requirements.txt: {' and '.join(lines)}")
        self.lines = lines


def line_of(name):
    """The line of requirements.txt for a package."""
    return _PACKAGES[name][1]


def require(packages, what):
    """Raises PackagesLacking if the environment, which also runs the workers, lacks a package that `what` needs.

    Looks for the modules on the path and imports none.
    """
    lacking = [name for name in packages if not is_there(name)]
    if not lacking:
        return
    noun = "package" if len(lacking) == 1 else "packages"
    detail = f"{what} needs the {noun} {' and '.join(lacking)}, which the environment lacks."
    raise PackagesLacking(detail, [line_of(name) for name in lacking])


def is_there(name):
    """Whether the environment has a package."""
    if name not in _found:
        import sys
        from importlib.machinery import PathFinder

        module = _PACKAGES[name][0]
        is_there = sys.modules[module] is not None if module in sys.modules else PathFinder.find_spec(module)
        if not is_there:
            return False
        _found.add(name)
    return True
