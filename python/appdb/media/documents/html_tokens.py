"""The tokens of HTML, piece by piece and in linear time: unfinished tags make Python's own parser quadratic.

It keeps to what the WHATWG standard says of tags, comments and raw text, as far as text needs it. What a file ends in the
middle of is left out, as in browsers.
"""

import re
from html import unescape

# A tag that is not complete is kept in memory.
MAX_TAG = 64_000_000
_RAW = frozenset("script style textarea title xmp iframe noembed noframes".split())
_START = re.compile(r"<(?:!--|[!?]|/?[a-zA-Z]|/)")
_NAME = re.compile(r"/?([a-zA-Z][^\s/>]*+)")
# A quote counts only behind "=". Without the end of a quote or tag nothing matches: more of the file is needed.
_REST = re.compile(r"""(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])))*+>""")
_COMMENT_END = re.compile(r"--!?>")
_ATTRIBUTE = re.compile(r"""([^\s"'>/=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'=<>`]++)))?""")
# Python refuses to read numbers of thousands of digits. No character has such a number.
_LONG_NUMBER = re.compile(r"&#[0-9]{9,};?")
_MAX_META = 20_000
_ENTITY = 40  # Characters of an entity that the end of a piece may cut.


class Tokens:
    """Calls `start(name, attributes)`, `end(name)` and `text(text)` of a page. Only a meta element has attributes."""

    def __init__(self, page, has_lines=False):
        self._page = page
        self._line = 1 if has_lines else None  # Of the token that is read.
        self._blank_lines = 0  # Before the first letter of the text that is read.
        self._kept = ""
        self._raw = None  # The element whose content is raw, and the pattern of its end.

    @property
    def kept(self):
        """Characters of what is not complete."""
        return len(self._kept)

    def feed(self, piece, is_last=False):
        """Reads a piece. Raises ValueError for a tag or comment without an end."""
        text, at = self._kept + piece, 0
        while at < len(text):
            moved = self._raw_text(text, at, is_last) if self._raw else self._token(text, at, is_last)
            if moved is None:
                break
            if self._line is not None:
                self._line += text.count("\n", at, moved)
            at = moved
        self._kept = "" if is_last else text[at:]
        if len(self._kept) > MAX_TAG:
            raise ValueError(f"a tag or comment has more than {MAX_TAG:,} characters")

    def _token(self, text, at, is_last):
        """The place behind the next token; None if it is not complete."""
        found = _START.search(text, at)
        if found is None or found.start() > at:
            return self._plain(text, at, len(text) if found is None else found.start(), is_last or found is not None)
        opened = found[0]
        if opened == "<!--":
            # `<!-->` and `<!--->` are complete comments.
            end = _COMMENT_END.search(text, at + 2)
            return None if end is None else end.end()
        if opened in ("<!", "<?", "</"):
            end = text.find(">", at)
            return None if end < 0 else end + 1
        name = _NAME.match(text, at + 1)
        rest = _REST.match(text, name.end())
        if rest is None:
            return None
        self._tag(name[1].lower(), opened.startswith("</"), text[name.end() : rest.end() - 1])
        return rest.end()

    def _plain(self, text, at, end, is_complete):
        """Text up to a tag. At the end of a piece, what may be a part of a tag or entity stays."""
        if not is_complete:
            cut = max(text.rfind("<", max(at, end - 4), end), text.rfind("&", max(at, end - _ENTITY), end))
            end = cut if cut >= 0 else end
            if end == at:
                return None
        self._page.text(self._counted(text[at:end]))
        return end

    def line_of_text(self):
        """The line where the text that the page gets begins, from 1; None if lines are not counted."""
        return None if self._line is None else self._line + self._blank_lines

    def _counted(self, text):
        if self._line is not None:
            self._blank_lines = text.count("\n", 0, len(text) - len(text.lstrip()))
        return _unescaped(text)

    def _raw_text(self, text, at, is_last):
        name, ending = self._raw
        found = ending.search(text, at)
        if found is None:
            end = len(text) if is_last else max(at, len(text) - len(name) - 3)
            self._page.text(_unescaped(text[at:end]))
            return end if end > at else None
        self._page.text(_unescaped(text[at : found.start()]))
        self._raw = None
        return found.start()

    def _tag(self, name, is_end, rest):
        if is_end:
            self._page.end(name)
            return
        if name in _RAW:
            self._raw = (name, re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE))
        self._page.start(name, _attributes(rest) if name == "meta" else {})
        if name == "svg" and rest.endswith("/"):  # Other elements of HTML ignore the slash.
            self._page.end(name)


def _attributes(rest):
    found = {}
    for name, *values in _ATTRIBUTE.findall(rest[:_MAX_META]):
        found.setdefault(name.lower(), _unescaped("".join(values)))
    return found


def _unescaped(text):
    return unescape(_LONG_NUMBER.sub("\ufffd", text)) if "&" in text else text
