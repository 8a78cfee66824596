"""Documents: what the readers find in each format, and that no file harms them."""

import random
import tracemalloc
import zipfile

import document_files as files
import pytest

from appdb.media.documents import office
from appdb.media.documents.elements import MAX_ELEMENT
from appdb.media.documents.reading import MAX_TEXT, check, elements, facts_of, text_of

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600


@pytest.fixture
def made(tmp_path):
    """Writes a file; returns its path."""

    def write(name, content):
        path = tmp_path / name
        if isinstance(content, dict):
            files.office(path, name.rpartition(".")[2], content)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def parts(path):
    return [(one.text, one.page, one.level, one.is_row) for one in elements(path)]


def words(path):
    return [one.text for one in elements(path)]


def p(text, style=""):
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{named}<w:r><w:t>{text}</w:t></w:r></w:p>"


def docx(made, body, **more):
    return made("a.docx", {"word/document.xml": files.docx_body(body), **more})


def test_docx_headings_are_those_of_its_styles(made):
    styles = (
        '<w:styles xmlns:w="w"><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:styleId="Own"><w:basedOn w:val="H1"/></w:style>'
        '<w:style w:styleId="A"><w:basedOn w:val="B"/></w:style><w:style w:styleId="B"><w:basedOn w:val="A"/></w:style>'
        '<w:style w:styleId="Out"><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style></w:styles>'
    )
    related = files.relations([("r1", "styles", "styles.xml")])
    body = p("One", "H1") + p("Two", "Own") + p("Three", "Out") + p("Text", "A") + p(" ", "H1")
    path = docx(made, body, **{"word/styles.xml": styles, "word/_rels/document.xml.rels": related})
    assert [(one.text, one.level) for one in elements(path)] == [("One", 1), ("Two", 1), ("Three", 3), ("Text", None)]


def test_docx_rows_tabs_breaks_and_text_boxes(made):
    cell = "<w:tc>{}</w:tc>".format
    inner = f"<w:tbl><w:tr>{cell(p('x'))}{cell(p('y'))}</w:tr></w:tbl>"
    table = f"<w:tbl><w:tr>{cell(p('a') + p('b'))}{cell('')}{cell(inner + p(''))}</w:tr></w:tbl>"
    run = "<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>m</w:t><w:tab/><w:t>n</w:t><w:br/><w:t>o</w:t></w:r></w:p>"
    box = "<w:txbxContent>" + p("box") + "</w:txbxContent>"
    twice = f"<mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent>"
    deleted = "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
    path = docx(made, table + run + f"<w:p><w:r><w:t>around</w:t>{twice}</w:r></w:p>" + deleted)
    assert words(path) == ["a b\t\tx y", "m\tn\no", "box", "around"]
    assert text_of(path).startswith("a b\t\tx y\n\nm")


def test_pptx_slides_are_in_the_order_of_the_presentation(made):
    content = files.office_parts("pptx", ["one", "two"])
    content["ppt/slides/slide0.xml"] = files.slide("Title", "ctrTitle")
    swapped = content["ppt/presentation.xml"].replace('r:id="r0"', "X").replace('r:id="r1"', 'r:id="r0"')
    content["ppt/presentation.xml"] = swapped.replace("X", 'r:id="r1"')
    path = made("a.pptx", content)
    assert parts(path) == [("two", 1, None, False), ("Title", 2, 1, False)]
    assert facts_of(path)["pages"] == 2


def test_xlsx_values_are_those_that_excel_shows(made):
    styles = (
        '<numFmts><numFmt numFmtId="164" formatCode="[$-409]d\\-mmm;@"/><numFmt numFmtId="165" formatCode="0.0 &quot;days&quot;"/>'
        '</numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs>'
    )
    strings = "<si><t>plain</t></si><si><r><t>ri</t></r><r><t>ch</t></r><rPh><t>furigana</t></rPh></si>"
    cells = {
        '<c t="s"><v>0</v></c><c t="s"><v>1</v></c>': "plain\trich",
        '<c s="1"><v>45322</v></c><c s="1"><v>45322.520833333336</v></c>': "2024-01-31\t2024-01-31 12:30:00",
        '<c s="2"><v>59</v></c><c s="2"><v>61</v></c><c s="1"><v>0.25</v></c>': "1900-02-28\t1900-03-01\t06:00:00",
        '<c s="3"><v>2.5</v></c><c s="1"><v>1e300</v></c><c s="99"><v>7</v></c>': "2.5\t1e+300\t7",
        '<c t="b"><v>1</v></c><c t="e"><v>#N/A</v></c><c t="str"><f>A1</f><v>x</v></c>': "TRUE\t#N/A\tx",
        '<c r="B9"><v>0.30000000000000004</v></c><c r="D9"><v>-3</v></c>': "\t0.3\t\t-3",
        "<c><f>1+1</f></c>": None,
    }
    path = made("a.xlsx", files.xlsx_parts("".join(f"<row>{row}</row>" for row in cells), strings, styles))
    assert words(path) == ["Sheet", *filter(None, cells.values())]
    later = files.xlsx_parts('<row><c s="1"><v>1</v></c></row>', "", styles, '<workbookPr date1904="1"/>')
    assert words(made("b.xlsx", later)) == ["Sheet", "1904-01-02"]


def test_html_has_no_scripts_and_styles(made):
    path = made(
        "a.html",
        "<html><head><title>A  b</title><meta name=Author content='Me'><style>p{}</style></head><body>"
        "<h2>He<b>ad</b></h2><p>One\n <i>two</i> three<br>four<script>x('</p>')</script><noscript>no</noscript>"
        "<table><tr><td>a<td><p>b</p><p>c</p></tr></table><pre>x\n  y</pre><![foo bar]><!-- c --><svg/><ul><li>q<li>r &amp; s",
    )
    assert parts(path) == [
        ("Head", None, 2, False), ("One two three\nfour", None, None, False), ("a\tb c", None, None, True),
        ("x\n  y", None, None, False), ("q", None, None, False), ("r & s", None, None, False),
    ]  # fmt: skip
    assert {key: value for key, value in facts_of(path).items() if value} == {
        "size": 309, "format": "html", "title": "A b", "author": "Me",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("<html><p>é".encode(), "é"),
        (b"<html><meta charset=iso-8859-1><p>\x80\xe9", "€é"),
        ('<html><meta http-equiv=x content="text/html; charset=shift_jis"><p>日本'.encode("shift_jis"), "日本"),
        ("<html><meta charset=utf-16><p>é".encode(), "é"),
        (b"<html><meta charset=base64><p>a", "a"),
        ("<html><p>é".encode("utf-16"), "é"),
    ],
)
def test_html_is_decoded_as_browsers_do(made, content, wanted):
    assert text_of(made("a.html", content)) == wanted


def test_markdown_headings_and_code(made):
    path = made("a.md", "\ufeff# One #\r\ntext\r\nmore\r\n\r\n~~~\n# code\n\n~~~~\nTwo\n---\n#no\n    # code\n###### Six")
    assert [(one.text, one.level) for one in elements(path)] == [
        ("One", 1), ("text\nmore", None), ("~~~\n# code\n\n~~~~", None), ("Two", 2), ("#no\n    # code", None), ("Six", 6),
    ]  # fmt: skip
    assert facts_of(path)["title"] == "One" and text_of(path).startswith("# One #\ntext")


def test_texts_are_paragraphs_and_rows(made):
    assert words(made("a.txt", "one\ntwo\n \n\nthree")) == ["one\ntwo", "three"]
    assert parts(made("a.csv", "a,b\n\n1,2\n")) == [("a,b", None, None, True), ("1,2", None, None, True)]
    assert words(made("a.xml", "<?xml version='1.0'?><!DOCTYPE a><a>x<b k='v'>y</b>z</a>")) == ["x", "y", "z"]
    assert words(made("utf16.txt", "é".encode("utf-16"))) == ["é"]


def test_pdf_pages_have_numbers(made):
    path = made("a.pdf", files.pdf(["one", "", "three"], "/ID[<00><00>]"))
    assert parts(path) == [("one", 1, None, False), ("three", 3, None, False)]


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
    "an encrypted PDF": ("a.pdf", files.pdf(["one"], "/Encrypt<</Filter/Standard/V 1/R 2/O<28>/U<28>/P -1>>/ID[<00><00>]"), "encrypted"),
    "a PDF without pages": ("a.pdf", files.pdf_of(["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[]/Count 0>>"]), "has no pages"),
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


LARGE = {
    "a.docx": lambda: {"word/document.xml": files.docx_body("".join(p(f"Paragraph {n}") for n in range(30_000)))},
    "a.xlsx": lambda: files.xlsx_parts("".join(f"<row><c><v>{n}</v></c><c><v>{n}.5</v></c></row>" for n in range(30_000))),
    "a.html": lambda: "<html><body>" + "".join(f"<p>Paragraph <b>{n}</b>" for n in range(50_000)),
    "a.md": lambda: "".join(f"# Heading {n}\n\ntext\n\n" for n in range(50_000)),
    "a.csv": lambda: "".join(f"{n},{n}\n" for n in range(100_000)),
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
    assert count >= 30_000 and peak < 1_000_000


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
