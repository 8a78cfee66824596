"""Documents for tests, made from a text: `pdf one|two` has two pages, `docx one|two` two paragraphs."""

import zipfile

_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_MAIN = {
    "docx": ("word/document.xml", "wordprocessingml.document"),
    "pptx": ("ppt/presentation.xml", "presentationml.presentation"),
    "xlsx": ("xl/workbook.xml", "spreadsheetml.sheet"),
}
SUFFIX = {"text": "txt", "markdown": "md"}


def write(path, text):
    """Writes a sample: its format, and its parts between bars."""
    format, _, content = text.partition(" ")
    parts = content.split("|")
    if format == "broken":
        head = {"pdf": b"%PDF-1.7\n", "docx": b"PK\x03\x04", "": b"\0\1\2"}[content]
        path.write_bytes(head + b"broken" * 100)
    elif format == "pdf":
        path.write_bytes(pdf(parts))
    elif format == "html":
        path.write_text("<title>Sample</title>" + "".join(f"<p>{part}</p>" for part in parts), "utf-8")
    elif format in _MAIN:
        office(path, format, office_parts(format, parts))
    else:
        path.write_text("\n\n".join(parts) + ("" if len(parts) == 1 else "\n"), "utf-8")


def pdf(pages, trailer=""):
    """A PDF with a line of text on each page."""
    kids = " ".join(f"{5 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        "<</Title(Sample)>>",
    ]
    for at, text in enumerate(pages):
        resources = "<</Font<</F1 3 0 R>>>>"
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Resources{resources}/Contents {6 + 2 * at} 0 R>>"
        )
        drawn = f"BT /F1 12 Tf 20 200 Td ({text}) Tj ET"
        objects.append(f"<</Length {len(drawn)}>>stream\n{drawn}\nendstream")
    return pdf_of(objects, f"/Info 4 0 R{trailer}")


def pdf_of(objects, trailer=""):
    """A PDF of objects, the first of which is the catalog."""
    written, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    head = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    end = f"trailer<</Size {len(objects) + 1}/Root 1 0 R{trailer}>>\nstartxref\n{len(written)}\n%%EOF"
    return (written + head + end).encode("latin-1")


def office(path, format, parts, compression=zipfile.ZIP_DEFLATED):
    """An office file of parts by name, with its list of types and the relation of its main part."""
    main, type = _MAIN[format]
    content = f"application/vnd.openxmlformats-officedocument.{type}.main+xml"
    types = f'<Types xmlns="{_PACKAGE}/content-types"><Override PartName="/{main}" ContentType="{content}"/></Types>'
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("[Content_Types].xml", types)
        archive.writestr("_rels/.rels", relations([("r0", "officeDocument", main)]))
        for name, text in parts.items():
            archive.writestr(name, text)


def relations(listed):
    """The part with the relations of another one: id, type and target."""
    rows = "".join(
        f'<Relationship Id="{id}" Type="{_RELATION}/{type}" Target="{target}"/>' for id, type, target in listed
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{rows}</Relationships>'


def office_parts(format, texts):
    """The parts of a file with a paragraph, slide or row for each text."""
    if format == "docx":
        return {"word/document.xml": docx_body("".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in texts))}
    if format == "pptx":
        slides = [(f"r{at}", "slide", f"slides/slide{at}.xml") for at in range(len(texts))]
        listed = "".join(f'<p:sldId id="{256 + at}" r:id="{id}"/>' for at, (id, _, _) in enumerate(slides))
        head = f'<p:presentation xmlns:p="p" xmlns:r="{_RELATION}"><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>'
        made = {f"ppt/{target}": slide(text) for (_, _, target), text in zip(slides, texts)}
        return {"ppt/presentation.xml": head, "ppt/_rels/presentation.xml.rels": relations(slides), **made}
    rows = "".join(f'<row><c t="inlineStr"><is><t>{text}</t></is></c></row>' for text in texts)
    return xlsx_parts(rows)


def docx_body(content):
    """The main part of a DOCX file."""
    return f'<w:document xmlns:w="w" xmlns:mc="mc"><w:body>{content}</w:body></w:document>'


def slide(text, kind=""):
    """A slide with a shape."""
    holder = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>' if kind else ""
    return (
        f'<p:sld xmlns:p="p" xmlns:a="a"><p:sp>{holder}<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p>'
        "</p:txBody></p:sp></p:sld>"
    )


def xlsx_parts(rows, strings="", styles="", book=""):
    """The parts of a workbook with a sheet."""
    related = [("r1", "worksheet", "worksheets/sheet1.xml"), ("r2", "sharedStrings", "sharedStrings.xml")]
    related.append(("r3", "styles", "/xl/styles.xml"))
    head = f'<workbook xmlns="x" xmlns:r="{_RELATION}">{book}<sheets><sheet name="Sheet" r:id="r1"/></sheets></workbook>'
    return {
        "xl/workbook.xml": head,
        "xl/_rels/workbook.xml.rels": relations(related),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="x"><sheetData>{rows}</sheetData></worksheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="x">{strings}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="x">{styles}</styleSheet>',
    }
