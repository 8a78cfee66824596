"""The application of the iterators benchmark: frames of films, parts of films, and pages of documents."""

import appdb as db
from appdb.functions import uuid7
from appdb.functions.document import document_splitter
from appdb.functions.video import frame_iterator, video_splitter
from appdb.serving import Router

Base = db.model_base()


class Film(Base, name="films"):
    id = db.Column(value=uuid7(), primary_key=True)
    film: db.Video


class Frame(Base, name="frames", base=Film, iterator=frame_iterator(Film.film, fps=1)):
    pass


class Movie(Base, name="movies"):
    id = db.Column(value=uuid7(), primary_key=True)
    film: db.Video


class Part(Base, name="parts", base=Movie, iterator=video_splitter(Movie.film, duration=10.0, mode="fast")):
    pass


class Paper(Base, name="papers"):
    id = db.Column(value=uuid7(), primary_key=True)
    file: db.Document


class Page(Base, name="pages", base=Paper, iterator=document_splitter(Paper.file, separators="page")):
    pass


split = Router(name="split")
split.add_insert_route(Film, path="/films", uploadfile_inputs=[Film.film], outputs=[Film.id])
split.add_insert_route(Movie, path="/movies", uploadfile_inputs=[Movie.film], outputs=[Movie.id])
split.add_insert_route(Paper, path="/papers", uploadfile_inputs=[Paper.file], outputs=[Paper.id])
