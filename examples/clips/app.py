"""Clips of cameras: a frame of each second is a row, with its light and a small picture of it.

    cli schema update app.py main
    cli service update app.py main -f
"""

import appdb as db
from appdb.functions import format
from appdb.functions.image import thumbnail
from appdb.functions.video import frame_iterator
from appdb.serving import Router
from PIL import Image, ImageStat

Base = db.model_base()


@db.udf
def light_of(picture: Image.Image) -> int:
    """From 0, black, to 100, white."""
    return round(ImageStat.Stat(picture.convert("L")).mean[0] / 2.55)


class Clips(Base, name="clips"):
    number = db.Column(type=db.Int, primary_key=True)
    camera: db.String
    video = db.Column(type=db.Video)
    seconds = video.get_duration()


class Frames(Base, name="frames", base=Clips, iterator=frame_iterator(Clips.video, fps=1.0)):
    """A frame of each second. The frame itself is not stored; the small picture of it is."""

    # Outputs of the iterator are names in this body, which type checkers cannot know.
    light = light_of(frame)  # pyright: ignore
    small = thumbnail(frame, (32, 32))  # pyright: ignore


class DarkFrames(Base, name="dark_frames", base=Frames.where(Frames.light < 20)):
    """A view of a view: its column is computed for dark frames only."""

    notice = format("{0} is dark at {1} s", Clips.camera, Frames.pos)


@db.query
def frames_of(number: int):
    found = Frames.where(Frames.number == number).order_by(Frames.pos)
    return found.select(Frames.pos, Frames.light, Frames.small, at=Frames.frame_attrs.time)


@db.query
def frame_at(number: int, pos: int):
    """The whole frame, read from the video for this response."""
    return Frames.where((Frames.number == number) & (Frames.pos == pos)).select(Frames.frame)


@db.query
def small_at(number: int, pos: int):
    return Frames.where((Frames.number == number) & (Frames.pos == pos)).select(Frames.small)


@db.query
def dark():
    return DarkFrames.order_by(DarkFrames.number, DarkFrames.pos).select(DarkFrames.number, DarkFrames.pos, DarkFrames.notice)


@db.query
def cameras():
    """The light of each camera, over all frames of its clips."""
    found = Frames.group_by(Frames.camera).order_by(Frames.camera)
    return found.select(Frames.camera, frames=db.functions.count(Frames.pos), light=db.functions.max(Frames.light))


clips = Router()
clips.add_insert_route(Clips, path="/clips", uploadfile_inputs=[Clips.video], outputs=[Clips.number, Clips.seconds])
clips.add_update_route(Clips, path="/clips/update", uploadfile_inputs=[Clips.video], outputs=[Clips.number, Clips.seconds])
clips.add_delete_route(Clips, path="/clips/delete")
clips.add_query_route(path="/clips/{number}/frames", query=frames_of, method="get")
clips.add_query_route(path="/clips/{number}/frames/{pos}", query=frame_at, method="get", return_fileresponse=True)
clips.add_query_route(path="/clips/{number}/frames/{pos}/small", query=small_at, method="get", return_fileresponse=True)
clips.add_query_route(path="/dark", query=dark, method="get")
clips.add_query_route(path="/cameras", query=cameras, method="get")
