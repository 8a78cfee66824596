"""The manuals of a workshop: files are uploaded, split into parts, and searched by what the parts are about.

    cli schema update app.py main
    cli service update app.py main -f
"""

import appdb as db
from appdb.functions import format
from appdb.functions.document import document_splitter
from appdb.serving import Router
from embedding import embed

Base = db.model_base()

LONG = 400


class Manuals(Base, name="manuals"):
    number = db.Column(type=db.Int, primary_key=True)
    title: db.String
    file = db.Column(type=db.Document)
    is_read = db.Column(type=db.Bool, default=False)
    size = file.extract_text().len()


class Parts(
    Base,
    name="parts",
    base=Manuals,
    iterator=document_splitter(Manuals.file, "heading,paragraph,char_limit", limit=160, overlap=20, metadata="heading,page"),
):
    """The parts of each manual. They are made with its row, and again with another file."""

    # Outputs of the iterator are names in this body, which type checkers cannot know.
    source = format("{0}, part {1}", Manuals.title, pos)  # pyright: ignore
    __indexes__ = [db.EmbeddingIndex(text, embedding=embed)]  # pyright: ignore


class Unread(Base, name="unread", base=Manuals.where(Manuals.is_read == False)):
    """What is still to be read. Its column is computed for its rows only."""

    reminder = format("Read {0}: {1} characters", Manuals.title, Manuals.size)


class LongManuals(Base, name="long_manuals", base=Manuals.where(Manuals.size > LONG).select(Manuals.number, Manuals.title)):
    """It shows two columns of its base."""


@db.query
def search(q: str, limit: int = 3):
    """The parts that are most like some words, the nearest first."""
    likeness = Parts.text.similarity(string=q)
    return Parts.order_by(likeness, asc=False).limit(limit).select(Parts.number, Parts.pos, Parts.text, Parts.source, likeness=likeness)


@db.query
def search_unread(q: str):
    likeness = Parts.text.similarity(string=q)
    unread = Parts.where(Parts.is_read == False)
    return unread.order_by(likeness, asc=False).limit(1).select(Parts.number, Parts.text)


@db.query
def parts_of(number: int):
    found = Parts.where(Parts.number == number).order_by(Parts.pos)
    return found.select(Parts.pos, Parts.text, Parts.heading, Parts.page)


@db.query
def unread():
    return Unread.order_by(Unread.number).select(Unread.number, Unread.reminder)


@db.query
def long():
    return LongManuals.order_by(LongManuals.number)


@db.query
def file_of(number: int):
    return Manuals.where(Manuals.number == number).select(Manuals.file)


manuals = Router()
manuals.add_insert_route(Manuals, path="/manuals", uploadfile_inputs=[Manuals.file])
manuals.add_update_route(Manuals, path="/manuals/update", uploadfile_inputs=[Manuals.file])
manuals.add_delete_route(Manuals, path="/manuals/delete")
manuals.add_query_route(path="/manuals/{number}/parts", query=parts_of, method="get")
manuals.add_query_route(path="/manuals/{number}/file", query=file_of, method="get", return_fileresponse=True)
manuals.add_query_route(path="/search", query=search, method="get")
manuals.add_query_route(path="/search/unread", query=search_unread, method="get")
manuals.add_query_route(path="/unread", query=unread, method="get")
manuals.add_query_route(path="/long", query=long, method="get")
