"""HTML: its visible text. Scripts, styles and pictures are left out, and nothing is loaded."""

import codecs
import re
from html.parser import HTMLParser

from appdb.media.documents.elements import Flow

# An unfinished tag or comment is kept in memory.
MAX_UNFINISHED = 64_000_000
_PIECE = 1 << 16
_SKIPPED = frozenset("script style template noscript svg iframe object title select".split())
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form"
    " header hr html li main menu nav ol p pre section summary table tbody tfoot thead ul caption".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_FACTS = {"author": "author", "description": "subject", "keywords": "keywords"}
_CHARSET = re.compile(rb"""<meta[^>]{0,500}charset\s*=\s*["']?\s*([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)


def elements(path):
    """Yields the elements of the page."""
    page = _Page()
    yield from _parsed(path, page)


def facts(path):
    """Title, author, description and keywords of the page's head."""
    page = _Page()
    for _ in _parsed(path, page):
        if page.is_in_body:
            break
    title = " ".join("".join(page.title).split())
    return {**page.facts, **({"title": title} if title else {})}


def _parsed(path, page):
    with open(path, "rb") as file:
        decode = codecs.getincrementaldecoder(_encoding(file.read(1_024)))("replace").decode
        file.seek(0)
        # A piece as long as what is unfinished keeps the time linear.
        while piece := file.read(max(_PIECE, len(page.rawdata))):
            page.feed(decode(piece))
            if len(page.rawdata) > MAX_UNFINISHED:
                raise ValueError(f"a tag, comment or script has more than {MAX_UNFINISHED:,} characters")
            yield from page.flow.take()
        page.feed(decode(b"", True))
    page.close()
    page.flow.end()
    yield from page.flow.take()


def _encoding(head):
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    named = _CHARSET.search(head)
    name = named[1].decode("ascii").lower() if named and not head.startswith(b"\xef\xbb\xbf") else "utf-8"
    if name in ("iso-8859-1", "latin1", "ascii", "us-ascii"):
        return "cp1252"  # As browsers do.
    try:
        info = codecs.lookup(name)
    except LookupError:
        return "utf-8-sig"
    is_text = info._is_text_encoding and info.incrementaldecoder is not None
    return info.name if is_text and info.name not in ("utf-8", "utf-16", "utf-16-le", "utf-16-be") else "utf-8-sig"


class _Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.flow = Flow()
        self.flow.begin()
        self.facts = {}
        self.title = []
        self.is_in_body = False
        self._skipping = []
        self._level = None
        self._pre = 0
        self._is_spaced = True  # Whether the paragraph ends in a space.

    def handle_starttag(self, tag, attrs):
        if tag in _SKIPPED:
            self._skipping.append(tag)
        elif self._skipping:
            return
        elif tag == "meta":
            given = dict(attrs)
            name = _FACTS.get((given.get("name") or "").lower())
            if name is not None and given.get("content"):
                self.facts.setdefault(name, given["content"][:10_000])
        elif tag == "br":
            self._add("\n")
        elif tag == "tr":
            self._break()
            self.flow.begin_row()
        elif tag in ("td", "th"):
            self._break()
            self.flow.begin_cell()
        elif tag in _HEADINGS:
            self._break()
            self._level = _HEADINGS[tag]
        elif tag in _BLOCKS:
            self._break()
            self.is_in_body = self.is_in_body or tag != "html"
            self._pre += tag == "pre"

    def handle_startendtag(self, tag, attrs):
        # Browsers ignore the slash except in pictures of SVG.
        self.handle_starttag(tag, attrs)
        if tag == "svg":
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag in _SKIPPED:
            if tag in self._skipping:
                while self._skipping.pop() != tag:
                    pass
        elif self._skipping:
            return
        elif tag == "tr":
            self._break()
            self.flow.end_row()
        elif tag in _HEADINGS or tag in _BLOCKS or tag in ("td", "th"):
            self._break()
            self._pre -= tag == "pre" and self._pre > 0

    def handle_data(self, data):
        if not self._skipping:
            self._add(data)
        elif self._skipping[-1] == "title" and len(self.title) < 1_000:
            self.title.append(data[:10_000])

    def parse_marked_section(self, i, report=1):
        # The library raises AssertionError for sections that it does not know; browsers see a comment.
        return self.parse_bogus_comment(i)

    def _add(self, text):
        if not self._pre and text != "\n":
            space = " " if text[:1].isspace() and not self._is_spaced else ""
            words = " ".join(text.split())
            text = space + words + (" " if words and text[-1:].isspace() else "")
        if text:
            self._is_spaced = text[-1].isspace()
            self.flow.add(text)

    def _break(self):
        self.flow.end(self._level)
        self._level = None
        self._is_spaced = True
        self.flow.begin()
