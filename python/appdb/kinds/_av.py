"""Reading of audio and video files by PyAV: only files of containers, never playlists that name other files."""

from contextlib import contextmanager

# Playlists (hls, dash, concat) and lists of images make FFmpeg open other files and addresses.
_CONTAINERS = (
    "aac,ac3,aiff,amr,amrnb,amrwb,asf,au,avi,caf,dts,dv,eac3,flac,flv,gif,h264,hevc,ivf,m4v,matroska,webm,mov,mp4,m4a,"
    "3gp,3g2,mj2,mp3,mpeg,mpegts,mpegvideo,mxf,nut,obu,ogg,tta,w64,wav,wv,yuv4mpegpipe"
)
_OPTIONS = {"format_whitelist": _CONTAINERS, "protocol_whitelist": "file"}


@contextmanager
def opened(path, what="video"):
    """Opens a file. Errors of FFmpeg, also while the file is used, become a ValueError without the file's path."""
    import av

    with clear_errors(what), av.open(path, options=_OPTIONS, metadata_errors="replace") as container:
        yield container


@contextmanager
def clear_errors(what):
    """Errors of FFmpeg become a ValueError without paths."""
    import av

    try:
        yield
    except av.error.FFmpegError as error:
        raise ValueError(f"the {what} cannot be read or written: {error.strerror}") from None
