"""The application of the media benchmark: images with and without a thumbnail, films that are stored unread, and texts."""

import appdb as db
from appdb.functions import uuid7
from appdb.serving import Router

Base = db.model_base()


class Photo(Base, name="photos"):
    id = db.Column(value=uuid7(), primary_key=True)
    picture: db.Image
    thumb = picture.resize((256, 256))


class Film(Base, name="films", media_validation="on_read"):
    id = db.Column(value=uuid7(), primary_key=True)
    film: db.Video


class Picture(Base, name="pictures"):
    id = db.Column(value=uuid7(), primary_key=True)
    picture: db.Image


class Note(Base, name="notes"):
    id = db.Column(value=uuid7(), primary_key=True)
    text: db.String


media = Router(name="media")
media.add_insert_route(Photo, path="/photos", uploadfile_inputs=[Photo.picture], outputs=[Photo.id])
media.add_insert_route(Film, path="/films", uploadfile_inputs=[Film.film])
media.add_insert_route(Picture, path="/pictures")
media.add_insert_route(Note, path="/notes")
