"""XLSX: the rows of each sheet in its order, with values as they were last calculated. Sheets' names are headings."""

import re
from datetime import datetime, timedelta

from appdb.media.documents.elements import Element, Pieces
from appdb.media.documents.office import OfficeFile, Reader, check_count

# Texts that cells share stay in memory while sheets are read.
MAX_SHARED = 64_000_000
_MAX_SHARED_TEXTS = 4_000_000
_MAX_COLUMNS = 16_384
_MAX_FORMAT = 255  # Characters of a format, as in Excel.
_DATES = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])
# In a format, what is quoted, escaped or in brackets is not a part of a date; brackets around hours are.
_NO_DATE = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)


def elements(path):
    """Yields the elements of all sheets; a sheet is a page."""
    with OfficeFile(path) as office:
        related = {id: (type, name) for id, type, name in office.related(office.main)}
        book = office.collect(office.main, _Book())
        by_type = {type: name for type, name in related.values()}
        shared = office.collect(by_type.get("sharedStrings", ""), _Shared()).texts
        styles = office.collect(by_type.get("styles", ""), _Styles())
        read = set()
        for page, (name, id) in enumerate(book.sheets, 1):
            yield Element(name, page, level=1)
            type, part = related.get(id, ("", ""))
            if type == "worksheet":
                if part in read:
                    raise ValueError(f"the sheets of the workbook share a part: {part[:100]}")
                read.add(part)
                yield from office.parse(part, _Sheet(page, shared, styles, book.is_from_1904))


def facts(path):
    """The number of sheets."""
    with OfficeFile(path) as office:
        return {"pages": len(office.collect(office.main, _Book()).sheets)}


class _Book(Reader):
    def __init__(self):
        self.sheets = []
        self.is_from_1904 = False

    def start(self, name, attributes):
        if name == "sheet":
            check_count(self.sheets)
            self.sheets.append((attributes.get("name", ""), attributes.get("r:id")))
        elif name == "workbookPr":
            self.is_from_1904 = attributes.get("date1904") in ("1", "true")


class _Shared(Reader):
    def __init__(self):
        self.texts = []
        self._pieces = None
        self._is_text = False
        self._length = 0
        self._phonetic = 0

    def start(self, name, attributes):
        if name == "si":
            self._pieces = []
        elif name == "rPh":
            self._phonetic += 1
        self._is_text = name == "t" and not self._phonetic

    def end(self, name):
        if name == "si":
            check_count(self.texts, _MAX_SHARED_TEXTS)
            self.texts.append("".join(self._pieces))
        elif name == "rPh":
            self._phonetic -= 1
        self._is_text = False

    def text(self, text):
        if self._is_text and self._pieces is not None:
            self._length += len(text)
            if self._length > MAX_SHARED:
                raise ValueError(f"the texts of the workbook have more than {MAX_SHARED:,} characters")
            self._pieces.append(text)


class _Styles(Reader):
    """Which styles of cells are dates."""

    def __init__(self):
        self.are_dates = []
        self._formats = {}
        self._is_in_cells = False

    def start(self, name, attributes):
        if name == "numFmt":
            check_count(self._formats)
            self._formats[attributes.get("numFmtId")] = attributes.get("formatCode", "")[:_MAX_FORMAT]
        elif name == "cellXfs":
            self._is_in_cells = True
        elif name == "xf" and self._is_in_cells:
            check_count(self.are_dates)
            self.are_dates.append(self._is_date(attributes.get("numFmtId", "0")))

    def end(self, name):
        if name == "cellXfs":
            self._is_in_cells = False

    def _is_date(self, id):
        if id in self._formats:
            code = _NO_DATE.sub("", self._formats[id].partition(";")[0])
            return bool(re.search("[dmyhs]", code, re.IGNORECASE)) and "General" not in code
        return id.isdecimal() and int(id) in _DATES


class _Sheet(Reader):
    def __init__(self, page, shared, styles, is_from_1904):
        self._page, self._shared = page, shared
        self._are_dates, self._is_from_1904 = styles.are_dates, is_from_1904
        self._ready = []
        self._row = None
        self._width = 0
        self._cell = {}
        self._value = None
        self._is_text = False
        self._phonetic = 0

    def start(self, name, attributes):
        if name == "row":
            self._row, self._width = Pieces(), 0
        elif name == "c":
            self._cell, self._value = attributes, Pieces()
        elif name == "rPh":
            self._phonetic += 1
        self._is_text = name in ("v", "t") and not self._phonetic

    def end(self, name):
        self._is_text = False
        if name == "rPh":
            self._phonetic -= 1
        elif name == "c" and self._row is not None and self._value is not None:
            self._put(self._printed(self._value.text()))
            self._value = None
        elif name == "row" and self._row is not None:
            if self._width:
                self._ready.append(Element(self._row.text(), self._page, is_row=True))
            self._row = None

    def text(self, text):
        if self._is_text and self._value is not None:
            self._value.add(text)

    def take(self):
        ready, self._ready = self._ready, []
        return ready

    def _put(self, text):
        """Adds a cell at its column; cells that the file leaves out are empty."""
        column = _column(self._cell.get("r", "")) or self._width + 1
        text = " ".join(text.split())
        if not text or column <= self._width:
            return
        self._row.add("\t" * (column - max(self._width, 1)) + text)
        self._width = column

    def _printed(self, value):
        type = self._cell.get("t", "n")
        if type == "s":
            at = int(value or -1)
            if not 0 <= at < len(self._shared):
                raise ValueError(f"a cell names the text {at}, and the workbook has {len(self._shared)}")
            return self._shared[at]
        if type == "b":
            return "TRUE" if value.strip() == "1" else "FALSE"
        if type != "n" or not value:
            return value
        style = self._cell.get("s", "")
        number = float(value)
        if style.isdecimal() and int(style) < len(self._are_dates) and self._are_dates[int(style)]:
            return _date(number, self._is_from_1904)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else format(number, ".15g")


def _column(reference):
    """The number of the column of `AB12`, from 1; 0 for a cell without a reference."""
    column = 0
    for letter in reference:
        if not "A" <= letter <= "Z":
            break
        column = 26 * column + ord(letter) - 64
        if column > _MAX_COLUMNS:
            raise ValueError(f"a cell is at {reference[:12]}; a sheet has at most {_MAX_COLUMNS} columns")
    return column


def _date(days, is_from_1904):
    """A date, or a time, in ISO 8601. Excel counts a 29th of February 1900 that there was not."""
    if not 0 <= days < (2_957_003 if is_from_1904 else 2_958_465):  # Before the end of the year 9999.
        return format(days, ".15g")
    seconds = round(days * 86_400)
    if is_from_1904:
        start = datetime(1904, 1, 1)
    else:
        start = datetime(1899, 12, 31) if days < 60 else datetime(1899, 12, 30)
    when = start + timedelta(seconds=seconds)
    if days < 1:
        return when.strftime("%H:%M:%S")
    return when.date().isoformat() if seconds % 86_400 == 0 else when.isoformat(" ")
