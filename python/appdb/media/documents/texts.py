"""Plain text, CSV, Markdown and XML: files that are text already."""

import re

from appdb.media.documents.elements import MAX_ELEMENT, Element, Flow
from appdb.media.documents.office import Reader, parse_xml

_PIECE = 1 << 16
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")


def paragraphs(path):
    """Yields the paragraphs of a plain text: what empty lines separate."""
    lines = []
    for line in _lines(path):
        if line.strip():
            lines.append(line)
        elif lines:
            yield _joined(lines)
            lines = []
    if lines:
        yield _joined(lines)


def rows(path):
    """Yields the lines of a CSV file."""
    for line in _lines(path):
        if line.strip():
            yield Element(line, is_row=True)


def markdown(path):
    """Yields headings and paragraphs; blocks of code, which can have empty lines, are one."""
    lines, fence = [], None
    for line in _lines(path):
        if fence is not None:
            lines.append(line)
            stripped = line.strip()
            if len(stripped) >= len(fence) and not stripped.strip(fence[0]):
                yield _joined(lines)
                lines, fence = [], None
            continue
        heading = _HEADING.match(line)
        opening = _FENCE.match(line)
        underline = _UNDERLINE.match(line)
        if heading or opening or (not line.strip()):
            if lines:
                yield _joined(lines)
            lines = []
        if heading:
            text = _without_closing((heading[2] or "").strip())
            if text:
                yield Element(text, level=len(heading[1]))
        elif opening:
            lines, fence = [line], opening[1]
        elif underline and lines:
            yield Element(" ".join(one.strip() for one in lines), level=1 if underline[1][0] == "=" else 2)
            lines = []
        elif line.strip():
            lines.append(line)
    if lines:
        yield _joined(lines)


def xml(path):
    """Yields the text of each element that has text of its own."""
    with open(path, "rb") as file:
        yield from parse_xml(iter(lambda: file.read(_PIECE), b""), _Texts(), allows_dtd=True)


def whole(path, most):
    """The text of the file, at most `most` characters."""
    text = "".join(_decoded(path, most)).removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\0", "")


def check(path):
    """Raises ValueError if the file is not text."""
    for _ in _decoded(path):
        pass


def title_of(path):
    """The first heading of a Markdown file; None without one."""
    return next((one.text[:10_000] for one in markdown(path) if one.level is not None), None)


class _Texts(Reader):
    def __init__(self):
        self._flow = Flow()

    def start(self, name, attributes):
        self._flow.end()
        self._flow.begin()

    def end(self, name):
        self._flow.end()
        self._flow.begin()

    def text(self, text):
        self._flow.add(text)

    def take(self):
        return self._flow.take()


def _without_closing(text):
    """A heading without the signs behind it: `Title ##`."""
    words = text.rstrip("#")
    return words.rstrip() if words[-1:] in ("", " ", "\t") else text


def _joined(lines):
    return Element("\n".join(lines).strip("\n"))


def _opened(path):
    with open(path, "rb") as file:
        head = file.read(4)
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return open(path, encoding=encoding, newline="")


def _decoded(path, most=None):
    length = 0
    with _opened(path) as file:
        while piece := file.read(_PIECE):
            length += len(piece)
            if most is not None and length > most:
                raise ValueError(f"the text has more than {most:,} characters")
            yield piece


def _lines(path):
    """The lines without their ends. Raises ValueError where a paragraph would have too many characters."""
    length = 0
    with _opened(path) as file:
        while line := file.readline(MAX_ELEMENT + 1):
            length = length + len(line) if line.strip() else 0
            if length > MAX_ELEMENT:
                raise ValueError(f"a paragraph has more than {MAX_ELEMENT:,} characters")
            yield line.rstrip("\r\n").replace("\0", "")
