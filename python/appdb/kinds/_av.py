"""Reading of audio and video files by PyAV: only files of containers, never playlists that name other files."""

import re
from contextlib import contextmanager

# Playlists (hls, dash, concat) and lists of images make FFmpeg open other files and addresses.
_CONTAINERS = (
    "aac,ac3,aiff,amr,amrnb,amrwb,asf,au,avi,caf,dts,dv,eac3,flac,flv,gif,h264,hevc,ivf,m4v,matroska,webm,mov,mp4,m4a,"
    "3gp,3g2,mj2,mp3,mpeg,mpegts,mpegvideo,mxf,nut,obu,ogg,tta,w64,wav,wv,yuv4mpegpipe"
)
_OPTIONS = {"format_whitelist": _CONTAINERS, "protocol_whitelist": "file"}


# FFmpeg takes time with the square of the number of tags. A file with more of them would hold a worker for its whole time.
_MAX_TAGS = 5_000
# Names of frames that FFmpeg keeps as tags, as ID3 2.2 to 2.4 have them. Pictures have few such bytes by accident.
_TAG = re.compile(rb"T[0-9A-Z]{2}|COM|ULT|USLT|PRIV")
_READ_BYTES = 1 << 20


@contextmanager
def opened(path, what="video"):
    """Opens a file. Errors of FFmpeg, also while the file is used, become a ValueError without the file's path."""
    import av

    _check_tags(path, what)
    with clear_errors(what), av.open(path, options=_OPTIONS, metadata_errors="replace") as container:
        yield container


def _check_tags(path, what):
    """Raises ValueError for too many tags at the beginning, which several headers of ID3 may hold."""
    found = 0
    try:
        file = open(path, "rb")
    except OSError:
        return  # FFmpeg has the same error.
    with file:
        while (head := file.read(10))[:3] == b"ID3" and len(head) == 10:
            left = head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]
            while left > 0 and (data := file.read(min(left, _READ_BYTES))):
                left -= len(data)
                found += len(_TAG.findall(data))
                if found > _MAX_TAGS:
                    raise ValueError(f"the {what} has more than {_MAX_TAGS} tags")


@contextmanager
def clear_errors(what):
    """Errors of FFmpeg become a ValueError without paths."""
    import av

    try:
        yield
    except av.error.FFmpegError as error:
        raise ValueError(f"the {what} cannot be read or written: {error.strerror}") from None
