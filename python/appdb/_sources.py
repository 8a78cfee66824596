"""Files of the project: their paths for people, the text of functions, digests."""

import os

from appdb import _deferred


class Places:
    """Turns file names into paths of the project, and finds a function's source text."""

    def __init__(self, root):
        self._root = root
        self._files = {}
        self._names = {}

    def of(self, source, module=None):
        name = self._name(source[0])
        if name is None:  # from an installed package: its module path, as no path of this machine belongs into a manifest
            name = module.replace(".", "/") + ".py" if module else os.path.basename(source[0])
        return {"file": name, "line": source[1]}

    def _name(self, filename):
        """The file's path from the project's root; None when it lies elsewhere. A big file has thousands of places."""
        if filename not in self._names:
            path = os.path.realpath(filename)
            inside = below(self._root, path)
            self._names[filename] = os.path.relpath(path, self._root).replace(os.sep, "/") if inside else None
        return self._names[filename]

    def source_text(self, code):
        """The function's lines, decorators included; its bytecode and constants where there is no source."""
        lines, ends = self._parsed(code.co_filename)
        last = ends.get(code.co_firstlineno)
        if last is None:
            return repr((code.co_code, code.co_names, [c for c in code.co_consts if not hasattr(c, "co_code")]))
        return "\n".join(line.rstrip() for line in lines[code.co_firstlineno - 1 : last])

    def _parsed(self, filename):
        if filename not in self._files:
            ends = {}
            tree = _deferred.parse(filename)
            for node in _deferred.statements(tree) if tree is not None else ():
                if type(node).__name__ == "FunctionDef":
                    first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
                    ends[first] = node.end_lineno
            lines = []
            if ends:
                with open(filename, encoding="utf-8", errors="surrogateescape", newline=None) as file:
                    lines = file.read().split("\n")
            self._files[filename] = (lines, ends)
        return self._files[filename]


def below(folder, file):
    """True when a file lies inside a folder, links followed."""
    return isinstance(file, str) and os.path.realpath(file).startswith(folder.rstrip(os.sep) + os.sep)


def sha256_hex(data):
    """The SHA-256 of bytes, as hex."""
    try:
        from _sha2 import sha256  # the same function without loading OpenSSL, which takes longer than all the rest
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256
    return sha256(data).hexdigest()
