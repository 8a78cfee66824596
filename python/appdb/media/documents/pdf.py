"""PDF, by PDFium: the text of each page in the order of the file."""

import threading
from contextlib import contextmanager

from appdb.media.documents.elements import MAX_ELEMENT, Element

MAX_PAGES = 100_000
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


def elements(path):
    """Yields an element for each page with text."""
    with _opened(path) as (pdf, count):
        for at in range(count):
            text = _text_of(pdf, at)
            if text:
                yield Element(text, page=at + 1)


def facts(path):
    """The number of pages, and what the file says of itself."""
    with _opened(path) as (pdf, count), _PDFIUM:
        found = {name: pdf.get_metadata_value(key)[:10_000] for key, name in _FACTS.items()}
    for name in ("created", "modified"):
        found[name] = _iso(found[name])
    return {**found, "pages": count}


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


def _text_of(pdf, at):
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
                finally:
                    text.close()
            finally:
                page.close()
        except pypdfium2.PdfiumError:
            raise ValueError(f"page {at + 1} of the PDF is broken") from None
    # PDFium writes a hyphen at the end of a line as a mark of its own.
    found = found.replace("\r\n", "\n").replace("\r", "\n").replace("\ufffe", "-").replace("\x02", "-")
    return found.replace("\0", "").strip()


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
