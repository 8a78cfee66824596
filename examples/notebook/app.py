"""A notebook that is searched by what a note is about, not by its letters.

    cli schema update app.py main
    cli service update app.py main -f
"""

from datetime import date

import appdb as db
from appdb.serving import Router
from embedding import Vector, embed, embed_many

Base = db.model_base()


class Notes(Base, name="notes"):
    number = db.Column(type=db.Int, primary_key=True)
    title = db.Column(type=db.String)
    body = db.Column(type=db.String | None)
    shelf = db.Column(type=db.String)
    written = db.Column(type=db.Date)

    # Vectors are made when a row is inserted or its text changes, in the same transaction. Nobody has to store them.
    __indexes__ = [
        db.EmbeddingIndex(title, embedding=embed),
        db.EmbeddingIndex(body, string_embed=embed_many, name="by_words"),
        db.EmbeddingIndex(body, string_embed=embed_many, name="by_distance", metric="l2", precision="fp32"),
        db.BtreeIndex(shelf),
        db.BtreeIndex(written),
    ]


@db.query
def search(q: str, limit: int = 5):
    """The notes that are most like some words, the nearest first."""
    likeness = Notes.body.similarity(string=q, idx="by_words")
    return Notes.order_by(likeness, asc=False).limit(limit).select(Notes.number, Notes.title, likeness=likeness)


@db.query
def search_shelf(q: str, shelf: str, limit: int = 5):
    """Of one shelf. As many as asked for, however many of other shelves are nearer."""
    likeness = Notes.body.similarity(string=q, idx="by_words")
    on_it = Notes.where(Notes.shelf == shelf)
    return on_it.order_by(likeness, asc=False).limit(limit).select(Notes.number, Notes.shelf)


@db.query
def search_since(q: str, since: date, limit: int = 3):
    likeness = Notes.body.similarity(string=q, idx="by_words")
    late = Notes.where(Notes.written >= since)
    return late.order_by(likeness, asc=False).limit(limit).select(Notes.number, Notes.written)


@db.query
def search_titles(q: str):
    """The index on the title has no name; it is the only one there."""
    likeness = Notes.title.similarity(string=q)
    return Notes.order_by(likeness, asc=False).limit(1).select(Notes.number, Notes.title)


@db.query
def nearest(vector: Vector, limit: int = 5):
    """By a vector that somebody made elsewhere, by distance: a likeness of l2 is 0 for the same vector, and falls."""
    likeness = Notes.body.similarity(vector=vector, idx="by_distance")
    return Notes.order_by(likeness, asc=False).limit(limit).select(Notes.number, likeness=likeness)


@db.query
def about(q: str, least: float = 0.5):
    """All that are alike enough."""
    likeness = Notes.body.similarity(string=q, idx="by_words")
    return Notes.where(likeness >= least).order_by(Notes.number).select(Notes.number)


@db.query
def shelf_of(shelf: str):
    return Notes.where(Notes.shelf == shelf).order_by(Notes.written).select(Notes.number, Notes.written)


notebook = Router(tags=["notes"])

notebook.add_insert_route(Notes, path="/notes", outputs=[Notes.number])
notebook.add_update_route(Notes, path="/notes/rewrite", inputs=[Notes.title, Notes.body])
notebook.add_delete_route(Notes, path="/notes/tear-out")
notebook.add_query_route(path="/shelf", query=shelf_of, method="get")

notebook.add_query_route(path="/search", query=search, method="get")
notebook.add_query_route(path="/search", query=search)
notebook.add_query_route(path="/search/shelf", query=search_shelf, method="get")
notebook.add_query_route(path="/search/since", query=search_since, method="get")
notebook.add_query_route(path="/search/titles", query=search_titles, method="get")
notebook.add_query_route(path="/search/vector", query=nearest)
notebook.add_query_route(path="/about", query=about, method="get")
