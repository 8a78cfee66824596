"""Functions of text, each also a method of a String column: `upper(title)` is `title.upper()`.

A null in an argument that is not nullable gives null. Each function returns the same as Python's own.
"""

from __future__ import annotations

import builtins

from appdb.functions._builtin import Namespace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
    from typing import Any as Json

_string = Namespace("string", iterators=("string_splitter",))
function, FUNCTIONS = _string.function, _string.functions
__getattr__ = _string.unknown


@function([("éA", "Éa"), ("HELLO wORLD", "Hello world")])
def capitalize(self: str, /) -> str:
    return str.capitalize(self)


@function([("ß", "ss")])
def casefold(self: str, /) -> str:
    return str.casefold(self)


@function([("ΑΣ", "ας")], is_trusted=True)
def lower(self: str, /) -> str:
    return str.lower(self)


@function([("ß", "SS")], is_trusted=True)
def upper(self: str, /) -> str:
    return str.upper(self)


@function([("ab", "ba")], is_trusted=True)
def reverse(self: str, /) -> str:
    return self[::-1]


@function([("aB", "Ab")])
def swapcase(self: str, /) -> str:
    return str.swapcase(self)


@function([("they're", "They'Re")])
def title(self: str, /) -> str:
    return str.title(self)


@function([("a", 5, "*", "**a**"), ("a", 3, " a ")])
def center(self: str, /, width: int, fillchar: str = " ") -> str:
    return self.center(width, fillchar)


@function([("a", 3, "a  "), ("a", 3, "-", "a--")])
def ljust(self: str, /, width: int, fillchar: str = " ") -> str:
    return self.ljust(width, fillchar)


@function([("a", 3, "  a"), ("a", 3, "-", "--a")])
def rjust(self: str, /, width: int, fillchar: str = " ") -> str:
    return self.rjust(width, fillchar)


@function([(" a ", "a "), ("xay", "xy", "ay")])
def lstrip(self: str, /, chars: str | None = None) -> str:
    return self.lstrip(chars)


@function([(" a ", " a"), ("xay", "xy", "xa")])
def rstrip(self: str, /, chars: str | None = None) -> str:
    return self.rstrip(chars)


@function([("\x1f a", "a"), ("xay", "xy", "a")], is_trusted=True)
def strip(self: str, /, chars: str | None = None) -> str:
    return self.strip(chars)


@function([("e\u0301", "NFC", "é"), ("é", "NFX", ValueError)])
def normalize(self: str, /, form: str) -> str:
    import unicodedata

    return unicodedata.normalize(form, self)


@function([("a", 3, "  a"), ("a", 3, "right", ".", "a.."), ("a", 4, "both", " a  "), ("a", 3, "top", ValueError)])
def pad(self: str, /, width: int, side: str = "left", fillchar: str = " ") -> str:
    if side == "left":
        return self.rjust(width, fillchar)
    if side == "right":
        return self.ljust(width, fillchar)
    if side == "both":
        return self.center(width, fillchar)
    raise ValueError(f"side is 'left', 'right' or 'both', not {side!r}")


@function([("ab", "a", "b"), ("ab", "b", "ab")])
def removeprefix(self: str, /, prefix: str) -> str:
    return str.removeprefix(self, prefix)


@function([("ab", "b", "a"), ("ab", "a", "ab")])
def removesuffix(self: str, /, suffix: str) -> str:
    return str.removesuffix(self, suffix)


@function([("ab", 2, "abab"), ("ab", -1, "")])
def repeat(self: str, /, n: int) -> str:
    return self * n


@function([("aa", "a", "b", "bb"), ("aa", "a", "b", 1, "ba"), ("ab", "", "-", "-a-b-")])
def replace(self: str, /, substr: str, repl: str, n: int | None = None) -> str:
    return self.replace(substr, repl, -1 if n is None else n)


@function([("a1b22", "[0-9]+", "#", "a#b#"), ("1b2", "[0-9]", "#", 1, "#b2"), ("aA", "A", "", None, 2, "")])
def replace_re(self: str, /, pattern: str, repl: str, n: int | None = None, flags: int = 0) -> str:
    import re

    if n == 0:
        return self
    return re.sub(pattern, repl, self, count=0 if n is None or n < 0 else n, flags=flags)


@function([("abcd", 1, 3, "bc"), ("abc", None, None, -1, "cba"), ("abc", "abc")])
def slice(self: str, /, start: int | None = None, stop: int | None = None, step: int | None = None) -> str:
    return self[start:stop:step]


@function([("abc", 1, 2, "X", "aXc"), ("abc", None, 1, "X", "Xbc"), ("abc", 1, "a")])
def slice_replace(self: str, /, start: int | None = None, stop: int | None = None, repl: str | None = None) -> str:
    head = "" if start is None else self[:start]
    tail = "" if stop is None else self[stop:]
    return head + (repl or "") + tail


@function([("-1", 4, "-001")])
def zfill(self: str, /, width: int) -> str:
    return str.zfill(self, width)


@function([("aa bb cc", 5, "aa bb\ncc")], binding="bind_wrap")
def fill(self: str, /, width: int, **options: bool | int | str) -> str:
    import textwrap

    return textwrap.fill(self, width, **options)


@function([("{{}}", "{}"), ("{}!", "a", "a!"), ("{} {}", "a", 1, "a 1"), ("{}", None, "None")], binding="bind_format")
def format(self: str, /, *args: Any, **kwargs: Any) -> str:
    return self.format(*args, **kwargs)


@function([("a1", True), ("a 1", False)])
def isalnum(self: str, /) -> bool:
    return str.isalnum(self)


@function([("ab", True), ("a1", False)])
def isalpha(self: str, /) -> bool:
    return str.isalpha(self)


@function([("é", False), ("e", True)])
def isascii(self: str, /) -> bool:
    return str.isascii(self)


@function([("²", False), ("2", True)])
def isdecimal(self: str, /) -> bool:
    return str.isdecimal(self)


@function([("²", True), ("½", False)])
def isdigit(self: str, /) -> bool:
    return str.isdigit(self)


@function([("a b", False), ("a_b", True)])
def isidentifier(self: str, /) -> bool:
    return str.isidentifier(self)


@function([("a1", True), ("aB", False)])
def islower(self: str, /) -> bool:
    return str.islower(self)


@function([("½", True), ("a", False)])
def isnumeric(self: str, /) -> bool:
    return str.isnumeric(self)


@function([("", False), (" \t", True)])
def isspace(self: str, /) -> bool:
    return str.isspace(self)


@function([("A B", True), ("a B", False)])
def istitle(self: str, /) -> bool:
    return str.istitle(self)


@function([("É", True), ("e", False)])
def isupper(self: str, /) -> bool:
    return str.isupper(self)


@function([("abc", "B", False), ("abc", "B", False, True)])
def contains(self: str, /, substr: str, case: bool = True) -> bool:
    return substr in self if case else substr.lower() in self.lower()


@function([("abc", "b.", True), ("abc", "B", 2, True)])
def contains_re(self: str, /, pattern: str, flags: int = 0) -> bool:
    import re

    return re.search(pattern, self, flags) is not None


@function([("abc", "a", True), ("abc", "b", False)])
def startswith(self: str, /, substr: str) -> bool:
    return str.startswith(self, substr)


@function([("abc", "a", False), ("abc", "c", True)])
def endswith(self: str, /, substr: str) -> bool:
    return str.endswith(self, substr)


@function([("abc", "b", False), ("abc", "A", False, True)])
def match(self: str, /, pattern: str, case: bool = True, flags: int = 0) -> bool:
    import re

    return re.match(pattern, self, flags if case else flags | re.IGNORECASE) is not None


@function([("abc", "a", False), ("abc", "a.c", True)])
def fullmatch(self: str, /, pattern: str, case: bool = True, flags: int = 0) -> bool:
    import re

    return re.fullmatch(pattern, self, flags if case else flags | re.IGNORECASE) is not None


@function([("🎉é", 2)], is_trusted=True)
def len(self: str, /) -> int:
    return builtins.len(self)


@function([("abba", "b+", 1), ("aBb", "b", 2, 2)])
def count(self: str, /, pattern: str, flags: int = 0) -> int:
    import re

    return sum(1 for _ in re.finditer(pattern, self, flags))


@function([("abc", "b", 1), ("abc", "z", 1, -1), ("aaa", "a", 1, 3, 1)])
def find(self: str, /, substr: str, start: int = 0, end: int | None = None) -> int:
    return self.find(substr, start, end)


@function([("abc", "c", 2), ("abc", "z", ValueError)])
def index(self: str, /, substr: str, start: int = 0, end: int | None = None) -> int:
    return self.index(substr, start, end)


@function([("aba", "a", 2), ("aba", "z", -1)])
def rfind(self: str, /, substr: str, start: int | None = 0, end: int | None = None) -> int:
    return self.rfind(substr, start, end)


@function([("aba", "a", 0, 2, 0), ("aba", "z", ValueError)])
def rindex(self: str, /, substr: str, start: int | None = 0, end: int | None = None) -> int:
    return self.rindex(substr, start, end)


@function([("a1b2", "[0-9]", ["1", "2"]), ("abcd", "(.)(.)", [["a", "b"], ["c", "d"]])])
def findall(self: str, /, pattern: str, flags: int = 0) -> list:
    import re

    return [list(found) if isinstance(found, tuple) else found for found in re.findall(pattern, self, flags)]


@function([(" a  b ", ["a", "b"]), ("a,b,c", ",", 1, ["a", "b,c"])])
def split(self: str, /, sep: str | None = None, maxsplit: int = -1) -> list:
    return self.split(sep, maxsplit)


@function([("a,b,c", ",", 1, ["a,b", "c"])])
def rsplit(self: str, /, sep: str | None = None, maxsplit: int = -1) -> list:
    return self.rsplit(sep, maxsplit)


@function([("a\nb", ["a", "b"]), ("a\nb", True, ["a\n", "b"])])
def splitlines(self: str, /, keepends: bool = False) -> list:
    return self.splitlines(keepends)


@function([("a b c", ["a", " ", "b c"])])
def partition(self: str, /, sep: str = " ") -> list:
    return list(self.partition(sep))


@function([("a", ",", ["", "", "a"])])
def rpartition(self: str, /, sep: str = " ") -> list:
    return list(self.rpartition(sep))


@function([("aa bb", 4, ["aa", "bb"])], binding="bind_wrap")
def wrap(self: str, /, width: int, **options: bool | int | str) -> list:
    import textwrap

    return textwrap.wrap(self, width, **options)


@function([("-", ["a", "b"], "a-b"), ("-", [], ""), ("-", "ab", TypeError)], is_method=False)
def join(sep: str, elements: Json) -> str:
    if not isinstance(elements, list):
        raise TypeError(f"join wants a list of text, not {type(elements).__name__}")
    return sep.join(elements)
