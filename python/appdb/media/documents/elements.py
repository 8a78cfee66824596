"""What documents are read as: a stream of headings, paragraphs and rows, and the bounds of each."""

# Characters of one element: more are memory that grows with the file.
MAX_ELEMENT = 4_000_000
MAX_CELLS = 20_000
# Tables in cells of tables; deeper ones are text of their cell.
MAX_TABLES = 20


class Element:
    """A part of a document in reading order.

    `page` is the number of its page, slide or sheet from 1, and `level` that of a heading, 1 to 6; None where the
    format has none. `is_row`: a row of a table, with a tab between its cells. Where a reader is asked for places, `line`
    is the line of HTML where its text begins, from 1, and `box` the box around the text of its page of a PDF.
    """

    __slots__ = ("text", "page", "level", "is_row", "line", "box")

    def __init__(self, text, page=None, level=None, is_row=False):
        self.text = text
        self.page = page
        self.level = level
        self.is_row = is_row
        self.line = None
        self.box = None

    def __repr__(self):
        return f"Element({self.text!r}, page={self.page}, level={self.level}, is_row={self.is_row})"


class Pieces:
    """Text of an element that is not complete. Raises ValueError where it has too many characters."""

    __slots__ = ("_pieces", "_length")

    def __init__(self):
        self._pieces = []
        self._length = 0

    def add(self, text):
        self._length += len(text)
        if self._length > MAX_ELEMENT:
            raise ValueError(f"a paragraph or row has more than {MAX_ELEMENT:,} characters")
        self._pieces.append(text)

    def text(self):
        return "".join(self._pieces)

    def __bool__(self):
        return self._length > 0


class Flow:
    """Collects the elements of a page: paragraphs, and tables, whose cells can have paragraphs and tables.

    A reader calls its methods in the order of the document, and takes what is complete.
    """

    __slots__ = ("page", "line", "_ready", "_open", "_rows", "_deeper")

    def __init__(self, page=None):
        self.page = page
        self.line = None  # Where the next element begins, if the reader says it.
        self._ready = []
        self._open = []  # Texts of paragraphs that have begun: a text box is a paragraph in a paragraph.
        self._rows = []  # Cells of rows that have begun: a cell can have a table.
        self._deeper = 0  # Rows that have begun below MAX_TABLES.

    def begin(self):
        self._open.append(Pieces())

    def add(self, text):
        """Adds to the innermost paragraph; text outside of paragraphs is spacing of the file."""
        if self._open:
            self._open[-1].add(text)

    def end(self, level=None):
        if self._open:
            self.put(self._open.pop().text(), level)

    def put(self, text, level=None):
        """A complete paragraph; in a table, a part of its cell."""
        text = text.strip()
        if not text:
            return
        if self._rows:
            self._cell(text)
        else:
            self._complete(Element(text, self.page, level))

    def begin_row(self):
        if len(self._rows) < MAX_TABLES:
            self._rows.append([])
        else:
            self._deeper += 1

    def begin_cell(self):
        if self._rows and not self._deeper:
            if len(self._rows[-1]) >= MAX_CELLS:
                raise ValueError(f"a row of a table has more than {MAX_CELLS:,} cells")
            self._rows[-1].append(Pieces())

    def end_row(self):
        if self._deeper:
            self._deeper -= 1
            return
        if not self._rows:
            return
        cells = [one.text() for one in self._rows.pop()]
        if not any(cells):
            return
        if self._rows:
            self._cell(" ".join(filter(None, cells)))
        else:
            self._complete(Element("\t".join(cells), self.page, is_row=True))

    def take(self):
        """The elements that are complete and were not taken before."""
        ready, self._ready = self._ready, []
        return ready

    def _complete(self, element):
        element.line, self.line = self.line, None
        self._ready.append(element)

    def _cell(self, text):
        if not self._rows[-1]:
            self._rows[-1].append(Pieces())
        cell = self._rows[-1][-1]
        if cell:
            cell.add(" ")
        cell.add(" ".join(text.split()))
