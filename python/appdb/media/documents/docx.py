"""DOCX: the paragraphs and tables of the text itself, without headers, footers, notes and comments."""

from appdb.media.documents.elements import Flow
from appdb.media.documents.office import OfficeFile, Reader, check_count

_MAX_BASES = 50
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


def elements(path):
    """Yields the elements of the document."""
    with OfficeFile(path) as office:
        styles = [name for _, type, name in office.related(office.main) if type == "styles"]
        levels = office.collect(styles[0], _Styles()).levels() if styles else {}
        yield from office.parse(office.main, _Body(levels))


def facts(path):
    """What only this format knows."""
    return {}


class _Body(Reader):
    def __init__(self, levels):
        self._levels = levels
        self._flow = Flow()
        self._above = []  # Names of the elements that are open.
        self._level = []  # For each open paragraph, the level of its heading.
        self._skipped = 0  # Depth inside a second form of the same content, for old programs.

    def start(self, name, attributes):
        if self._skipped or name == "Fallback":
            self._skipped += 1
            return
        above = self._above[-1] if self._above else ""
        self._above.append(name)
        if name == "p":
            self._flow.begin()
            self._level.append(None)
        elif name in _BREAKS and above == "r":
            self._flow.add(_BREAKS[name])
        elif name == "tr":
            self._flow.begin_row()
        elif name == "tc":
            self._flow.begin_cell()
        elif above == "pPr" and self._level:
            if name == "pStyle":
                self._level[-1] = self._levels.get(attributes.get("val"), self._level[-1])
            elif name == "outlineLvl":
                self._level[-1] = level_of(attributes.get("val"))

    def end(self, name):
        if self._skipped:
            self._skipped -= 1
            return
        self._above.pop()
        if name == "p":
            self._flow.end(self._level.pop())
        elif name == "tr":
            self._flow.end_row()

    def text(self, text):
        if not self._skipped and self._above and self._above[-1] == "t":
            self._flow.add(text)

    def take(self):
        return self._flow.take()


class _Styles(Reader):
    """Which styles are headings: by their outline level or name, or those of the style that they are based on."""

    def __init__(self):
        self._own = {}
        self._bases = {}
        self._style = None

    def start(self, name, attributes):
        check_count(self._own)
        check_count(self._bases)
        if name == "style":
            self._style = attributes.get("styleId")
        elif self._style is None:
            return
        elif name == "outlineLvl":
            self._own[self._style] = level_of(attributes.get("val"))
        elif name == "basedOn":
            self._bases[self._style] = attributes.get("val")
        elif name == "name":
            word, _, number = attributes.get("val", "").lower().partition(" ")
            if word == "heading" and number.isdecimal():
                self._own[self._style] = level_of(int(number) - 1)

    def end(self, name):
        if name == "style":
            self._style = None

    def levels(self):
        return {style: self._level_of(style) for style in {*self._own, *self._bases}}

    def _level_of(self, style):
        seen = set()
        while style is not None and style not in self._own and style not in seen and len(seen) < _MAX_BASES:
            seen.add(style)
            style = self._bases.get(style)
        return self._own.get(style)


def level_of(outline):
    """The level of a heading by Word's outline level, which begins at 0; None for text."""
    try:
        level = int(outline) + 1
    except (TypeError, ValueError):
        return None
    return level if 1 <= level <= 6 else None
