"""PDF, by PDFium: the text of each page in the order of the file."""

import os
import threading
from contextlib import contextmanager

from appdb.media.documents.elements import MAX_ELEMENT, Element

MAX_PAGES = 100_000
# Bytes of pages, by their average, that are read before the file is opened again.
_OPEN_BYTES = 64 << 20
_PASSWORD = 4  # FPDF_ERR_PASSWORD
_FACTS = {
    "Title": "title",
    "Author": "author",
    "Subject": "subject",
    "Keywords": "keywords",
    "CreationDate": "created",
    "ModDate": "modified",
}
# PDFium cannot be called by two threads at once.
_PDFIUM = threading.Lock()


def elements(path, has_boxes=False):
    """Yields an element for each page with text; `has_boxes`: with the box around the text."""
    for pdf, at in _pages(path):
        element = _read(pdf, at, has_boxes)[0]
        if element.text:
            yield element


def rendered(path, dpi):
    """Yields (element, PIL.Image.Image) of each page, also of those without text."""
    for pdf, at in _pages(path):
        yield _read(pdf, at, True, dpi)


def facts(path):
    """The number of pages, and what the file says of itself."""
    with _opened(path) as (pdf, count), _PDFIUM:
        found = {name: pdf.get_metadata_value(key)[:10_000] for key, name in _FACTS.items()}
    for name in ("created", "modified"):
        found[name] = _iso(found[name])
    return {**found, "pages": count}


def _pages(path):
    """Yields (PDF, index of a page). A large file is opened several times: PDFium keeps what it has read until the end."""
    size, first, count = max(1, os.stat(path).st_size), 0, 1
    while first < count:
        with _opened(path) as (pdf, count):
            end = min(count, first + max(1, _OPEN_BYTES * count // size))
            for at in range(first, end):
                yield pdf, at
        first = end


@contextmanager
def _opened(path):
    import pypdfium2

    with _PDFIUM:
        try:
            pdf = pypdfium2.PdfDocument(path)
        except pypdfium2.PdfiumError as error:
            if error.err_code == _PASSWORD and _still_wants_password(path):
                raise ValueError("the PDF is encrypted; store it without a password") from None
            raise ValueError("the PDF is broken, or has no pages") from None
    try:
        with _PDFIUM:
            count = len(pdf)
        if count > MAX_PAGES:
            raise ValueError(f"the PDF has {count:,} pages; at most {MAX_PAGES:,} are read")
        yield pdf, count
    finally:
        with _PDFIUM:
            pdf.close()


def _still_wants_password(path):
    """PDFium keeps the reason of the last failure, which can be that of another file: asks again after another reason."""
    import pypdfium2

    reasons = []
    for source in (b"no PDF", path):
        try:
            pypdfium2.PdfDocument(source).close()
        except pypdfium2.PdfiumError as error:
            reasons.append(error.err_code)
    return reasons[-1] == _PASSWORD


def _read(pdf, at, has_box, dpi=None):
    """The element of a page, with its box if asked for, and its image if there is a `dpi`."""
    import pypdfium2

    with _PDFIUM:
        try:
            page = pdf[at]
            try:
                text = page.get_textpage()
                try:
                    if text.count_chars() > MAX_ELEMENT:
                        raise ValueError(f"page {at + 1} of the PDF has more than {MAX_ELEMENT:,} characters")
                    found = text.get_text_bounded()
                    box = _box(text, page.get_height()) if has_box else None
                finally:
                    text.close()
                image = None if dpi is None else _image(page, at, dpi)
            finally:
                page.close()
        except pypdfium2.PdfiumError:
            raise ValueError(f"page {at + 1} of the PDF is broken") from None
    # PDFium writes a hyphen at the end of a line as a mark of its own.
    found = found.replace("\r\n", "\n").replace("\r", "\n").replace("\ufffe", "-").replace("\x02", "-")
    element = Element(found.replace("\0", "").strip(), page=at + 1)
    element.box = box
    return element, image


def _box(text, height):
    """The box around a page's text in points from its top left; None without text."""
    boxes = [text.get_rect(number) for number in range(text.count_rects())]
    if not boxes:
        return None
    left, bottom, right, top = zip(*boxes)
    corners = {"x1": min(left), "y1": height - max(top), "x2": max(right), "y2": height - min(bottom)}
    return {name: round(side, 3) for name, side in corners.items()}


def _image(page, at, dpi):
    from appdb.kinds.image import MAX_PIXELS

    width, height = (round(side * dpi / 72) for side in page.get_size())
    if width * height > MAX_PIXELS:
        raise ValueError(f"page {at + 1} of the PDF has {width}x{height} pixels at {dpi} dpi; at most {MAX_PIXELS} are made")
    return page.render(scale=dpi / 72).to_pil().convert("RGB")


def _iso(date):
    """The date in ISO 8601, from `D:20240131120000+01'00'`; as it is if it has another form."""
    from datetime import datetime

    text = date.removeprefix("D:").replace("'", "")
    text = f"{text[:-1]}+0000" if text.endswith("Z") else text
    for form in ("%Y%m%d%H%M%S%z", "%Y%m%d%H%M%S", "%Y%m%d"):
        try:
            return datetime.strptime(text, form).isoformat()
        except ValueError:
            continue
    return date
