"""PPTX: the text of each slide in its order, without notes. Titles are headings."""

from appdb.media.documents.elements import Flow
from appdb.media.documents.office import OfficeFile, Reader, check_count

_TITLES = ("title", "ctrTitle")


def elements(path):
    """Yields the elements of all slides; a slide is a page."""
    with OfficeFile(path) as office:
        for page, slide in enumerate(_slides(office), 1):
            yield from office.parse(slide, _Slide(page))


def facts(path):
    """The number of slides."""
    with OfficeFile(path) as office:
        return {"pages": len(_slides(office))}


def _slides(office):
    parts = {id: name for id, _, name in office.related(office.main)}
    listed = office.collect(office.main, _Slides()).ids
    return [parts[id] for id in listed if id in parts]


class _Slides(Reader):
    def __init__(self):
        self.ids = []

    def start(self, name, attributes):
        if name == "sldId":
            check_count(self.ids)
            self.ids.append(attributes.get("r:id"))


class _Slide(Reader):
    def __init__(self, page):
        self._flow = Flow(page)
        self._above = []
        self._is_title = False
        self._skipped = 0

    def start(self, name, attributes):
        if self._skipped or name == "Fallback":
            self._skipped += 1
            return
        self._above.append(name)
        if name == "sp":
            self._is_title = False
        elif name == "ph":
            self._is_title = attributes.get("type") in _TITLES
        elif name == "p":
            self._flow.begin()
        elif name == "br":
            self._flow.add("\n")
        elif name == "tr":
            self._flow.begin_row()
        elif name == "tc":
            self._flow.begin_cell()

    def end(self, name):
        if self._skipped:
            self._skipped -= 1
            return
        self._above.pop()
        if name == "p":
            self._flow.end(1 if self._is_title else None)
        elif name == "sp":
            self._is_title = False
        elif name == "tr":
            self._flow.end_row()

    def text(self, text):
        if not self._skipped and self._above and self._above[-1] == "t":
            self._flow.add(text)

    def take(self):
        return self._flow.take()
