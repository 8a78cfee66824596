"""Documents: what the readers find in each format."""

import document_files as files
import pytest

from appdb.media.documents.reading import elements, facts_of, text_of


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


TAGS = {
    "<p>a<b>b</b>\n<i>c</i>": "ab c",
    "a < b, c <3 & d <": "a < b, c <3 & d <",
    "a<p title='x > y' data=\"<p>\" k=it's>b": "a\n\nb",
    "a<!-- <p> -- > -->b<!-->c<!x>d</1>e<?php f ?>g": "abcdeg",
    "<textarea><b></textarea>a<SCRIPT>x</scripty></ScRiPt >b": "<b>ab",
    "&eacute;&#233;&#xE9;&copy &nosuch; &#999999999999;x": "ééé© &nosuch; \ufffdx",
    "<table><tr><td>a<td>b<tr><td>c<table><tr><td>d<tr><td>e</table>f</table>g": "a\tb\nc d e f\n\ng",
    "<table><tr><td>" * 40 + "deep": "deep",
    "a<svg><title>b</title><p>c</svg>d<select><option>e</select>": "ad",
    "a<p": "a",
    "a<p x='": "a",
    "a<!--": "a",
    "a<script>b": "a",
    "a<title>b": "a",
}


@pytest.mark.parametrize("content", TAGS)
def test_html_tags_are_read_in_pieces_of_any_length(made, monkeypatch, content):
    path = made("a.html", "<html>" + content)
    for length in (1 << 16, 1, 2, 3, 7):
        monkeypatch.setattr("appdb.media.documents.html._PIECE", length)
        assert text_of(path) == TAGS[content]


def test_html_with_a_long_number_has_a_replacement(made):
    assert text_of(made("a.html", "<html>&#" + "9" * 5_000 + ";")) == "\ufffd"


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("<html><p>é".encode(), "é"),
        (b"<html><meta charset=iso-8859-1><p>\x80\xe9", "€é"),
        ('<html><meta http-equiv=x content="text/html; charset=shift_jis"><p>日本'.encode("shift_jis"), "日本"),
        ("<html><meta charset=utf-16><p>é".encode(), "é"),
        (b"<html><meta charset=base64><p>a", "a"),
        (b"<html><meta charset=unicode_escape><p>\\x41-b", "\\x41-b"),
        (b"<html><meta charset=punycode><p>a-b", "a-b"),
        ("<html><meta charset=windows-1251><p>я".encode("cp1251"), "я"),
        ("<html><meta charset=EUC-KR><p>한".encode("euc_kr"), "한"),
        ("<html><meta charset=gb2312><p>中".encode("gbk"), "中"),
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
