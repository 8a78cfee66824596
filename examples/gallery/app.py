"""A gallery: photos are uploaded, and each row computes its thumbnail, its size and its brightness.

    cli schema update app.py main
    cli service update app.py main -f
"""

from uuid import UUID

import appdb as db
from appdb.functions import uuid7
from appdb.serving import Router
from PIL import Image, ImageStat

Base = db.model_base()


@db.udf
def brightness(picture: Image.Image) -> float:
    """From 0, black, to 1, white."""
    return round(ImageStat.Stat(picture.convert("L")).mean[0] / 255, 2)


class Photos(Base, name="photos"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String
    picture = db.Column(type=db.Image)
    thumb = picture.thumbnail((128, 128))
    width = picture.width
    height = picture.height
    light = brightness(picture)


@db.query
def thumb_of(id: UUID):
    return Photos.where(Photos.id == id).select(Photos.thumb)


@db.query
def wide(least: int = 0):
    """Photos of at least this width. PostgreSQL knows the size; no file is read."""
    found = Photos.where(Photos.picture.width >= least).order_by(Photos.width, asc=False).order_by(Photos.title)
    return found.select(Photos.title, Photos.width, Photos.picture)


@db.query
def dark(limit: int = 3):
    return Photos.order_by(Photos.light).limit(limit).select(Photos.title, Photos.light)


gallery = Router()
gallery.add_insert_route(Photos, path="/photos", uploadfile_inputs=[Photos.picture])
gallery.add_query_route(path="/photos/{id}/thumb", query=thumb_of, method="get", return_fileresponse=True)
gallery.add_query_route(path="/wide", query=wide, method="get")
gallery.add_query_route(path="/dark", query=dark, method="get")
gallery.add_compute_route(
    Photos, path="/preview", inputs=[], uploadfile_inputs=[Photos.picture], outputs=[Photos.thumb], return_fileresponse=True
)
gallery.add_delete_route(Photos, path="/photos/delete")
