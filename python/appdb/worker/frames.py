"""Frames of the worker protocol: 4 bytes big-endian length, then one msgpack value."""

import os

import msgpack


class FrameReader:
    """Reads frames from a descriptor, waiting for each."""

    def __init__(self, descriptor):
        self._descriptor = descriptor
        self._buffer = bytearray()

    def read(self):
        """Returns the next frame, or None at the end of the input."""
        buffer = self._buffer
        if not self._fill(4):
            return None
        size = int.from_bytes(buffer[:4], "big")
        if not self._fill(4 + size):
            return None
        with memoryview(buffer) as view:
            frame = msgpack.unpackb(view[4 : 4 + size], raw=False, unicode_errors="surrogatepass", strict_map_key=True)
        del buffer[: 4 + size]
        return frame

    def _fill(self, size):
        buffer = self._buffer
        while len(buffer) < size:
            # A large frame is read in large parts: a pipe returns 64 KiB at a time, a socket more.
            data = os.read(self._descriptor, max(65536, min(size - len(buffer), 1 << 20)))
            if not data:
                return False
            buffer += data
        return True


class FrameWriter:
    """Writes frames to a descriptor. One thread at a time: the caller holds a lock."""

    def __init__(self, descriptor):
        self._descriptor = descriptor
        self._packer = _packer()

    def write(self, *frames):
        """Writes frames whole, in one go. Raises MemoryError before any byte was written."""
        parts = []
        for frame in frames:
            try:
                body = self._packer.pack(frame)
            except BaseException:
                self._packer = _packer()  # Its buffer keeps what was packed before.
                raise
            parts.append(len(body).to_bytes(4, "big"))
            parts.append(body)
        data = b"".join(parts)
        sent = os.write(self._descriptor, data)
        while sent < len(data):
            sent += os.write(self._descriptor, memoryview(data)[sent:])


def _packer():
    return msgpack.Packer(use_bin_type=True, default=_wire)


def _wire(value):
    """The form of a value that only exists in this process: a file that a step has made."""
    return value.wire()
