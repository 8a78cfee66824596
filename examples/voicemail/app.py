"""A voicemail box: callers leave recordings, and each row computes its length, its loudness and a louder copy.

    cli schema update app.py main
    cli service update app.py main -f
"""

from array import array
from uuid import UUID

import appdb as db
import av
from appdb.functions import uuid7
from appdb.serving import Router

Base = db.model_base()


@db.udf
def peak(recording: db.Audio) -> float:
    """The loudest sample, from 0 to 1. A function gets audio as the path of a file."""
    loudest = 0
    to_mono = av.AudioResampler("s16", "mono", 8_000)
    with av.open(str(recording)) as file:
        for frame in file.decode(audio=0):
            for part in to_mono.resample(frame):
                loudest = max(loudest, *map(abs, array("h", bytes(part.planes[0])[: 2 * part.samples])))
    return round(loudest / 32_768, 2)


class Messages(Base, name="messages"):
    id = db.Column(value=uuid7(), primary_key=True)
    caller: db.String
    recording = db.Column(type=db.Audio)
    facts = recording.get_metadata()
    seconds = facts["streams"][0]["duration_seconds"].astype(db.Float)
    volume = peak(recording)
    # Easier to listen to: as loud as it can be, and without a click at its end.
    clear = recording.normalize().fade_out(duration=0.1)


@db.query
def messages(caller: str | None = None):
    found = Messages.where((caller == None) | (Messages.caller == caller)).order_by(Messages.id)
    return found.select(Messages.caller, Messages.seconds, Messages.volume, Messages.clear)


@db.query
def recording_of(id: UUID):
    return Messages.where(Messages.id == id).select(Messages.clear)


voicemail = Router()
voicemail.add_insert_route(
    Messages,
    path="/messages",
    uploadfile_inputs=[Messages.recording],
    outputs=[Messages.id, Messages.seconds, Messages.volume],
)
voicemail.add_query_route(path="/messages", query=messages, method="get")
voicemail.add_query_route(path="/messages/{id}", query=recording_of, method="get", return_fileresponse=True)
voicemail.add_compute_route(
    Messages, path="/measure", inputs=[], uploadfile_inputs=[Messages.recording], outputs=[Messages.seconds, Messages.volume]
)
