"""A library of papers: texts are uploaded, and each row knows its headings and the number of its words.

    cli schema update app.py main
    cli service update app.py main -f
"""

import tempfile
from pathlib import Path

import appdb as db
from appdb.serving import Router

Base = db.model_base()


@db.udf
def count_words(paper: db.Document) -> int:
    """A function gets a document as the path of its file."""
    return len(Path(str(paper)).read_text("utf-8").split())


@db.udf
def find_headings(paper: db.Document) -> list[str]:
    lines = Path(str(paper)).read_text("utf-8").splitlines()
    return [line.lstrip("# ") for line in lines if line.startswith("#")]


@db.udf
def write_outline(title: str, headings: list[str]) -> db.Document:
    """A function makes a document by its path. A temporary file is moved away with the row."""
    with tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8", delete=False) as file:
        file.write(f"# {title}\n\n" + "".join(f"- {heading}\n" for heading in headings))
    return file.name  # pyright: ignore[reportReturnType]


class Papers(Base, name="papers"):
    number = db.Column(type=db.Int, primary_key=True)
    title = db.Column(type=db.String)
    text = db.Column(type=db.Document)
    translation: db.Document | None
    words = count_words(text)
    headings = find_headings(text)
    outline = write_outline(title, headings)


@db.query
def search(title: str = "", least: int = 0):
    found = Papers.where(Papers.title.contains(title, case=False)).where(Papers.words >= least)
    return found.order_by(Papers.number).select(Papers.number, Papers.title, Papers.words, is_translated=Papers.translation != None)


@db.query
def text_of(number: int):
    return Papers.where(Papers.number == number).select(Papers.text)


@db.query
def translation_of(number: int):
    return Papers.where(Papers.number == number).select(Papers.translation)


papers = Router()
papers.add_insert_route(Papers, path="/papers", uploadfile_inputs=[Papers.text, Papers.translation])
papers.add_query_route(path="/search", query=search, method="get")
papers.add_query_route(path="/papers/{number}/text", query=text_of, method="get", return_fileresponse=True)
papers.add_query_route(path="/papers/{number}/translation", query=translation_of, method="get", return_fileresponse=True)
# The title is in the outline, so an update writes another one, and answers with it.
papers.add_update_route(Papers, path="/papers/rename", inputs=[Papers.title], outputs=[Papers.outline], return_fileresponse=True)
