"""HTML: its visible text. Scripts, styles and pictures are left out, and nothing is loaded."""

import codecs
import re

from appdb.media.documents.elements import Flow
from appdb.media.documents.html_tokens import Tokens

_PIECE = 1 << 16
_MAX_NESTED = 500
_SKIPPED = frozenset("script style template noscript svg iframe object title select xmp noembed noframes".split())
# Elements without an end.
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form"
    " header hr li main menu nav ol p pre section summary tbody tfoot thead ul caption".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_FACTS = {"author": "author", "description": "subject", "keywords": "keywords"}
# Python's names of the encodings of the web, without those of Unicode. Other codecs of Python are slow, or no encodings.
_ENCODINGS = re.compile(
    r"cp(125\d|866|874|932|949|950)|iso8859-\d+|koi8-[ru]|mac-roman"
    r"|gb(k|18030|2312)|big5|euc_jp|euc_kr|iso2022_jp|shift_jis"
)
_CHARSET = re.compile(rb"""<meta[^>]{0,500}charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)


def elements(path, skip_tags=(), has_lines=False):
    """Yields the elements of the page, without the content of those in `skip_tags`; `has_lines`: with their lines.

    An element of `skip_tags` that the file does not end is left out until the file ends.
    """
    page = _Page(frozenset(skip_tags) - _VOID)
    yield from _parsed(path, page, has_lines)


def facts(path):
    """Title, author, description and keywords of the page's head."""
    page = _Page()
    for _ in _parsed(path, page):
        if page.is_in_body:
            break
    title = " ".join("".join(page.title).split())
    return {**page.facts, **({"title": title} if title else {})}


def _parsed(path, page, has_lines=False):
    tokens = Tokens(page, has_lines)
    page.tokens = tokens
    with open(path, "rb") as file:
        decode = codecs.getincrementaldecoder(_encoding(file.read(1_024)))("replace").decode
        file.seek(0)
        # A piece as long as what is not complete keeps the time linear.
        while piece := file.read(max(_PIECE, tokens.kept)):
            tokens.feed(decode(piece))
            yield from page.flow.take()
        tokens.feed(decode(b"", True), is_last=True)
    page.close()
    yield from page.flow.take()


def _encoding(head):
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    named = _CHARSET.search(head)
    name = named[1].decode("ascii").lower() if named and not head.startswith(b"\xef\xbb\xbf") else "utf-8"
    if name in ("iso-8859-1", "latin1", "ascii", "us-ascii"):
        return "cp1252"  # As browsers do.
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        return "utf-8-sig"
    return codec if _ENCODINGS.fullmatch(codec) else "utf-8-sig"


class _Page:
    """What the tokens of a page mean for its text."""

    def __init__(self, skipped=frozenset()):
        self.flow = Flow()
        self.flow.begin()
        self.tokens = None
        self._skipped = _SKIPPED | skipped
        self.facts = {}
        self.title = []
        self.is_in_body = False
        self._skipping = []
        self._tables = []  # For each open table, whether it has an open row.
        self._level = None
        self._pre = 0
        self._is_spaced = True  # Whether the paragraph ends in a space.

    def start(self, tag, attributes):
        if tag in self._skipped:
            if len(self._skipping) < _MAX_NESTED:
                self._skipping.append(tag)
        elif self._skipping:
            return
        elif tag == "meta":
            name = _FACTS.get(attributes.get("name", "").lower())
            if name is not None and attributes.get("content"):
                self.facts.setdefault(name, attributes["content"][:10_000])
        elif tag == "br":
            self.flow.add("\n")
            self._is_spaced = True
        elif tag == "table":
            self._break()
            if len(self._tables) < _MAX_NESTED:
                self._tables.append(False)
        elif tag == "tr":
            self._end_row()
            self.flow.begin_row()
            self._tables = self._tables or [False]
            self._tables[-1] = True
        elif tag in ("td", "th"):
            self._break()
            self.flow.begin_cell()
        elif tag in _HEADINGS:
            self._break()
            self._level = _HEADINGS[tag]
        elif tag in _BLOCKS:
            self._break()
            self.is_in_body = True
            self._pre += tag == "pre"

    def end(self, tag):
        if tag in self._skipped:
            if tag in self._skipping:
                while self._skipping.pop() != tag:
                    pass
        elif self._skipping:
            return
        elif tag == "tr":
            self._end_row()
        elif tag == "table":
            self._end_row()
            if self._tables:
                self._tables.pop()
        elif tag in _HEADINGS or tag in _BLOCKS or tag in ("td", "th"):
            self._break()
            self._pre -= tag == "pre" and self._pre > 0

    def text(self, text):
        if not self._skipping:
            self._add(text)
        elif self._skipping[-1] == "title" and len(self.title) < 1_000:
            self.title.append(text[:10_000])

    def close(self):
        """The end of the file ends what is open."""
        while self._tables:
            self.end("table")
        self._end_row()

    def _end_row(self):
        self._break()
        if self._tables and self._tables[-1]:
            self.flow.end_row()
            self._tables[-1] = False

    def _add(self, text):
        if not self._pre:
            space = " " if text[:1].isspace() and not self._is_spaced else ""
            words = " ".join(text.split())
            text = space + words + (" " if words and text[-1:].isspace() else "")
        if text:
            self._is_spaced = text[-1].isspace()
            self.flow.add(text)
            if self.flow.line is None and not text.isspace():
                self.flow.line = self.tokens.line_of_text()

    def _break(self):
        self.flow.end(self._level)
        self._level = None
        self._is_spaced = True
        self.flow.begin()
