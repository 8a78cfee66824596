/** An application with media columns. `KEPT` stands for a folder, which is a destination. */
export const MEDIA_APP = `
import os
import tempfile

import appdb as db
from PIL import Image
from appdb.functions import uuid7
from appdb.serving import Router

Base = db.model_base()


@db.udf
def small(picture: Image.Image) -> Image.Image:
    copy = picture.copy()
    copy.thumbnail((64, 64))
    return copy


@db.udf
def describe(picture: Image.Image) -> str:
    return f"{picture.width}x{picture.height} {picture.mode}"


@db.udf
def first_line(text: db.Document) -> db.Document:
    with open(str(text)) as file, tempfile.NamedTemporaryFile("w", suffix=".md", delete=False) as made:
        made.write(file.readline())
    return made.name


@db.udf
def spoil(text: db.Document, how: str) -> str:
    if how == "write":
        os.chmod(text, 0o600)
        with open(text, "w") as file:
            file.write("spoiled")
    if how == "remove":
        os.unlink(text)
    return how


@db.udf
def escape(title: str) -> Image.Image:
    return title


class Photo(Base, name="photos"):
    id = db.Column(value=uuid7(), primary_key=True)
    title: db.String | None
    n: db.Int | None
    picture: db.Image
    second: db.Image | None
    thumb = small(picture)
    caption = describe(thumb)
    width = picture.width
    tone = picture.mode
    tiny = picture.resize((8, 4)).height


class Loose(Base, name="loose", media_validation="on_read"):
    key = db.Column(type=db.String, primary_key=True)
    picture: db.Image
    caption = describe(picture)
    width = picture.width


class Files(Base, name="files"):
    key = db.Column(type=db.String, primary_key=True)
    text: db.Document
    head = first_line(text)


class Spoiled(Base, name="spoiled"):
    how = db.Column(type=db.String, primary_key=True)
    text: db.Document
    done = spoil(text, how)


@db.udf
def line_of(text: db.Document, n: int | None) -> str:
    with open(str(text)) as file:
        return f"{n} {file.readline()}"


class Line(Base, name="lines"):
    key = db.Column(type=db.String, primary_key=True)
    text: db.Document
    n: db.Int | None
    head = line_of(text, n)


class Strange(Base, name="strange"):
    title = db.Column(type=db.String, primary_key=True)
    made = escape(title)


class Lost(Base, name="lost"):
    key = db.Column(type=db.String, primary_key=True)
    picture: db.Image[(None, 240)]
    thumb = db.Column(value=small(picture), destination="file:///no/such/store")


class Same(Base, name="same"):
    key = db.Column(type=db.String, primary_key=True)
    picture: db.Image
    text: db.Document | None
    shown = picture.fileurl
    read = text.fileurl
    caption = describe(picture)


class Kept(Base, name="kept"):
    key = db.Column(type=db.String, primary_key=True)
    picture: db.Image
    thumb = db.Column(value=small(picture), destination="file://KEPT")


@db.query
def thumb_of(id: db.UUID):
    return Photo.where(Photo.id == id).select(Photo.thumb)


@db.query
def titles():
    return Photo.order_by(Photo.title).select(Photo.title, Photo.picture, Photo.thumb, high=Photo.thumb.height)


@db.query
def texts():
    return Same.where(Same.key == "bucket").select(Same.text)


@db.query
def heads():
    return Line.select(head=line_of(Line.text, Line.n))


photos = Router()
photos.add_insert_route(Line, path="/lines", uploadfile_inputs=[Line.text])
photos.add_update_route(Line, path="/lines/update", inputs=[Line.n])
photos.add_query_route(path="/lines/heads", query=heads, method="get")
photos.add_query_route(path="/texts", query=texts, method="get")
uploads = [Photo.picture, Photo.second]
photos.add_insert_route(Photo, path="/photos", uploadfile_inputs=uploads)
photos.add_compute_route(Photo, path="/try", inputs=[], uploadfile_inputs=[Photo.picture], outputs=[Photo.caption])
photos.add_compute_route(
    Photo, path="/shrink", inputs=[], uploadfile_inputs=[Photo.picture], outputs=[Photo.thumb], return_fileresponse=True
)
photos.add_query_route(path="/photos/{id}/thumb", query=thumb_of, method="get", return_fileresponse=True)
photos.add_query_route(path="/titles", query=titles, method="get")


@photos.get("/handled")
def handled():
    return titles()


@db.uda
class Wide(db.Aggregator):
    def __init__(self):
        self.width = 0

    def update(self, picture: Image.Image) -> None:
        self.width += picture.width

    def value(self) -> int:
        return self.width


@db.query
def widths():
    return Photo.select(total=Wide(Photo.thumb))


photos.add_query_route(path="/widths", query=widths, method="get")
photos.add_insert_route(Loose, path="/loose", uploadfile_inputs=[Loose.picture], on_error="ignore")
photos.add_insert_route(Files, path="/files", uploadfile_inputs=[Files.text])
photos.add_insert_route(Spoiled, path="/spoiled", uploadfile_inputs=[Spoiled.text])
photos.add_insert_route(Strange, path="/strange")
photos.add_insert_route(Same, path="/same", uploadfile_inputs=[Same.picture, Same.text])


@photos.insert_route(Same, path="/same/told", uploadfile_inputs=[Same.picture, Same.text])
def told(*, key, shown, caption, picture):
    return {"key": key, "shown": str(shown.size), "same": shown.size == picture.size, "caption": caption}


photos.add_insert_route(Kept, path="/kept", uploadfile_inputs=[Kept.picture])
photos.add_insert_route(Lost, path="/lost", uploadfile_inputs=[Lost.picture])
`;

/** A program that draws whole.png, other.jpg, turned.jpg and cut.jpg into a folder. */
export const DRAW_PICTURES = `
import sys
from PIL import Image
folder = sys.argv[1]
image = Image.linear_gradient("L").resize((320, 240)).convert("RGB")
image.save(folder + "/whole.png")
image.save(folder + "/other.jpg", quality=60)
turned = Image.Exif()
turned[0x0112] = 6
image.save(folder + "/turned.jpg", exif=turned)
with open(folder + "/other.jpg", "rb") as file:
    content = file.read()
with open(folder + "/cut.jpg", "wb") as file:
    file.write(content[: len(content) // 2])
`;
