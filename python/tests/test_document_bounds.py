"""Documents that are broken, hostile or large: each gives its text or a plain error, within bounds of memory and time."""

import random
import time
import tracemalloc
import zipfile

import document_files as files
import pytest
from test_documents import docx, made, p  # noqa: F401

from appdb.media.documents import office, pdf
from appdb.media.documents.elements import MAX_ELEMENT
from appdb.media.documents.reading import MAX_TEXT, check, elements, facts_of, text_of

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
BROKEN = {
    "an empty file": ("a.pdf", b"", "empty"),
    "bytes": ("a.docx", b"\0\1\2", "not a document of a known format"),
    "a PDF that was cut off": ("a.pdf", files.pdf(["one"])[:300], "no end|is broken"),
    "an archive that was cut off": ("a.docx", b"PK\x03\x04" + b"x" * 900, "no end"),
    "text with a wrong byte": ("a.txt", b"a" * 5_000 + b"\xff", "wrong byte at 5000"),
    "broken XML": ("a.docx", {"word/document.xml": "<a><b></a>"}, "XML of the document is broken"),
    "entities": ("a.docx", {"word/document.xml": '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'}, "not allowed"),
    "a document type": ("a.docx", {"word/document.xml": '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'}, "not allowed"),
    "entities in XML": ("a.xml", "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "not allowed"),
    "an unknown encoding": ("a.docx", {"word/document.xml": "<?xml version='1.0' encoding='UTF-9'?><a/>"}, "UTF-9"),
    "deep XML": ("a.docx", {"word/document.xml": "<a>" * 600}, "more than 500 levels"),
    "a file without its main part": ("a.pptx", {}, "not a document of a known format"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_when_it_is_stored(made, name):
    file, content, words = BROKEN[name]
    path = made(file, content)
    for function in (check, text_of, facts_of) if name in ("an empty file", "bytes") else (check, text_of):
        with pytest.raises(ValueError, match=words):
            function(path)


UNREADABLE = {
    "an old office file": ("a.doc", OLE, "with a password, or of before 2007"),
    "RTF": ("a.rtf", b"{\\rtf1 text}", "RTF"),
    "an encrypted PDF": (
        "a.pdf",
        files.pdf(["one"], "/Encrypt<</Filter/Standard/V 1/R 2/O<28>/U<28>/P -1>>/ID[<00><00>]"),
        "encrypted",
    ),
    "a PDF without pages": (
        "a.pdf",
        files.pdf_of(["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[]/Count 0>>"]),
        "has no pages",
    ),
    "a PDF whose pages are missing": (
        "a.pdf",
        files.pdf_of(["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[9 0 R]/Count 900000>>"]),
        "pages|broken",
    ),
    "a PDF whose pages contain themselves": (
        "a.pdf",
        files.pdf_of(["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[2 0 R 2 0 R]/Parent 2 0 R/Count 99999>>"]),
        "pages|broken",
    ),
    "a slide that is broken": ("a.pptx", {**files.office_parts("pptx", ["a"]), "ppt/slides/slide0.xml": "<a"}, "unclosed token"),
    "a text that is missing": ("a.xlsx", files.xlsx_parts('<row><c t="s"><v>7</v></c></row>'), "names the text 7"),
    "a column that is too far": ("a.xlsx", files.xlsx_parts('<row><c r="ZZZZ1"><v>7</v></c></row>'), "at most 16384"),
    "a column of many letters": (
        "a.xlsx",
        files.xlsx_parts(f'<row><c r="{"A" * 300_000}1"><v>7</v></c></row>'),
        "a cell is at AAAAAAAAAAAA",
    ),
    "sheets that share a part": (
        "a.xlsx",
        files.xlsx_parts("", book='<sheets><sheet name="One" r:id="r1"/></sheets>'),
        "sheets of the workbook share a part",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_cannot_be_read_fails_with_its_reason(made, name):
    file, content, words = UNREADABLE[name]
    path = made(file, content)
    if "slide" not in name:
        check(path)
    with pytest.raises(ValueError, match=words):
        text_of(path)


def test_a_part_that_unpacks_to_too_much_is_refused(made):
    path = made("a.docx", {"word/document.xml": files.docx_body(" " * 20_000_000)})
    with pytest.raises(ValueError, match=r"word/document.xml unpacks to 20,000,\d+ bytes from"):
        check(path)


def test_all_parts_together_are_bounded(made, monkeypatch):
    monkeypatch.setattr(office, "MAX_XML_BYTES", 300_000)
    slides = [random.Random(at).randbytes(50_000).hex() for at in range(4)]
    path = made("a.pptx", files.office_parts("pptx", slides))
    check(path)
    with pytest.raises(ValueError, match="more than 300,000 bytes of XML"):
        text_of(path)


@pytest.mark.parametrize("zip64", [False, True])
def test_a_long_list_of_parts_is_refused_before_it_is_read(made, tmp_path, zip64):
    path = docx(made, p("a"))
    content = bytearray((tmp_path / "a.docx").read_bytes())
    if zip64:
        end = content.rfind(b"PK\x05\x06")
        record = b"PK\x06\x06" + (44).to_bytes(8, "little") + bytes(28) + (9_000_000).to_bytes(8, "little") + bytes(8)
        content[end:end] = record + b"PK\x06\x07" + bytes(16)
    else:
        end = content.rfind(b"PK\x05\x06")
        content[end + 12 : end + 16] = (9_000_000).to_bytes(4, "little")
    (tmp_path / "a.docx").write_bytes(content)
    with pytest.raises(ValueError, match="list of parts of 9,000,000 bytes"):
        check(path)


def test_a_long_tag_of_xml_is_read_in_linear_time(made):
    path = made("a.xml", "<?xml version='1.0'?><a b='" + "x" * 30_000_000 + "'>text</a>")
    started = time.process_time()
    assert text_of(path) == "text"
    assert time.process_time() - started < 10


def test_a_tag_of_xml_is_bounded(made, monkeypatch):
    monkeypatch.setattr(office, "MAX_TAG_BYTES", 100_000)
    with pytest.raises(ValueError, match="a tag of the XML has more than 100,000 bytes"):
        text_of(made("a.xml", "<?xml version='1.0'?><a b='" + "x" * 400_000 + "'>text</a>"))


def test_an_encrypted_part_is_refused(made, tmp_path):
    path = docx(made, p("a"))
    content = bytearray((tmp_path / "a.docx").read_bytes())
    for sign, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.find(sign)
        while place >= 0:
            content[place + at] |= 1
            place = content.find(sign, place + 4)
    (tmp_path / "a.docx").write_bytes(content)
    with pytest.raises(ValueError, match="encrypted; store it without a password"):
        check(path)


def test_an_archive_in_a_document_is_not_opened(made):
    path = docx(made, p("a"), **{"word/embeddings/inner.zip": "PK\x03\x04 broken"})
    assert text_of(path) == "a"


LISTS = {
    "relations": {"_rels/.rels": "<Relationships>" + "<Relationship/>" * 20 + "</Relationships>"},
    "types": {"[Content_Types].xml": "<Types>" + "".join(f"<Override PartName='{n}'/>" for n in range(20)) + "</Types>"},
    "slides": {"ppt/presentation.xml": "<a>" + "<sldId/>" * 20 + "</a>"},
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_lists_of_a_document_are_bounded(made, monkeypatch, name):
    monkeypatch.setattr(office.check_count, "__defaults__", (10,))
    path = made("a.pptx", {**files.office_parts("pptx", ["a"]), **LISTS[name]})
    with pytest.raises(ValueError, match="a list of more than 10 entries"):
        text_of(path)


def test_rows_are_bounded(made):
    with pytest.raises(ValueError, match="more than 20,000 cells"):
        text_of(made("a.html", "<html><table><tr>" + "<td>" * 30_000))
    with pytest.raises(ValueError, match="more than 20,000 cells"):
        text_of(docx(made, "<w:tbl><w:tr>" + "<w:tc/>" * 30_000 + "</w:tr></w:tbl>"))


def test_a_line_of_spaces_is_read_in_linear_time(made):
    started = time.process_time()
    assert text_of(made("a.md", "# a" + " " * 1_000_000 + "b")).endswith("b")
    assert [one.level for one in elements(made("a.md", "# a" + " " * 1_000_000 + "b # c"))] == [1]
    assert time.process_time() - started < 5


def test_long_paragraphs_and_texts_are_refused(made, monkeypatch):
    with pytest.raises(ValueError, match="a paragraph has more than"):
        list(elements(made("a.txt", "a" * (MAX_ELEMENT + 1))))
    with pytest.raises(ValueError, match="a paragraph or row has more than"):
        list(elements(made("a.html", "<html>" + "ab" * (MAX_ELEMENT // 2 + 1))))
    monkeypatch.setattr("appdb.media.documents.reading.MAX_TEXT", 5)
    for name, content in (("b.txt", "a\n\n\nbcd"), ("b.html", "<html><p>abc<p>d")):
        with pytest.raises(ValueError, match="has more than 5 characters"):
            text_of(made(name, content))
    assert MAX_TEXT > 10_000_000


MANY, LONG = 20_000, "x" * 80
LARGE = {
    "a.docx": lambda: {"word/document.xml": files.docx_body("".join(p(f"{n} {LONG}") for n in range(MANY)))},
    "a.xlsx": lambda: files.xlsx_parts(f"<row><c><v>1</v></c><c t='str'><v>{LONG}</v></c></row>" * MANY),
    "a.html": lambda: "<html><body>" + "".join(f"<p>{n} <b>{LONG}</b>" for n in range(MANY)),
    "a.md": lambda: "".join(f"# Heading {n}\n\n{LONG}\n\n" for n in range(MANY)),
    "a.csv": lambda: "".join(f"{n},{LONG}\n" for n in range(MANY)),
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_elements_of_a_large_file_need_little_memory(made, name):
    path = made(name, LARGE[name]())
    tracemalloc.start()
    try:
        count = sum(1 for _ in elements(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count >= MANY and peak < 700_000


SAMPLES = ["pdf one|two", "docx one|two", "pptx one|two", "xlsx one|two", "html one|two"]


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_damaged_file_gives_a_text_or_a_plain_error(tmp_path, sample):
    chance = random.Random(sample)
    path = tmp_path / f"a.{sample.partition(' ')[0]}"
    files.write(path, sample)
    whole = path.read_bytes()
    for _ in range(150):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 8)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(content[: chance.choice((len(content), chance.randrange(len(content))))])
        for function in (check, text_of, facts_of):
            try:
                function(str(path))
            except ValueError as error:
                assert str(path) not in str(error)


@pytest.mark.parametrize("format", ["docx", "pptx", "xlsx"])
def test_damaged_xml_gives_a_text_or_a_plain_error(tmp_path, format):
    chance = random.Random(format)
    content = files.office_parts(format, ["one", "two"])
    path = tmp_path / f"a.{format}"
    for _ in range(100):
        damaged = dict(content)
        name = chance.choice(list(damaged))
        text = damaged[name]
        at = chance.randrange(len(text))
        damaged[name] = text[:at] + chance.choice(["", "<", '"', "0", "</t>", "&#0;", "&amp;", "r1", "-1"]) + text[at + 1 :]
        files.office(path, format, damaged, zipfile.ZIP_STORED)
        for function in (check, text_of, facts_of):
            try:
                function(str(path))
            except ValueError:
                pass


ENDLESS = ["<", "<a ", "</a ", "<!--", "<!a ", "<?", "</", "<script>", "&", "&#x", '<a b="', "<div>", "<tr>"]


@pytest.mark.parametrize("piece", ENDLESS)
def test_html_that_never_ends_is_read_in_linear_time(made, piece):
    path = made("a.html", "<html>" + piece * 300_000)
    started = time.process_time()
    text_of(path)
    assert time.process_time() - started < 20


@pytest.mark.parametrize("pages_at_once", [1, 2, 3, 100])
def test_a_large_pdf_is_opened_again_for_its_next_pages(made, monkeypatch, pages_at_once):
    texts = ["one", "", "three", "four", "five"]
    content = files.pdf(texts)
    path = made("a.pdf", content)
    monkeypatch.setattr(pdf, "_OPEN_BYTES", -(-len(content) * pages_at_once // len(texts)))
    openings = []
    opened = pdf._opened
    monkeypatch.setattr(pdf, "_opened", lambda path: openings.append(path) or opened(path))
    found = [(one.text, one.page) for one in pdf.elements(path)]
    assert found == [(text, page) for page, text in enumerate(texts, 1) if text]
    assert len(openings) == -(-len(texts) // pages_at_once)
