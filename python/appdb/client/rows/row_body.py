"""The body of an insert or compute: frames of columns for many rows, or lines of JSON."""

from itertools import chain, islice

from appdb.client.rows.encoding import encoded_rows
from appdb.declare.errors import Error

_BLOCK_BYTES = 1 << 18
_LINES = {"content-type": "application/x-ndjson"}
#: Fewer rows are sent as lines, which need no question to the server.
_MANY = 500


def row_body(connection, path, rows, refs, source, counted, query):
    """Returns the body and the headers of rows. `rows` are those of the source, or ones made of them.

    `query`: that of a request without rows, which asks for frames of columns."""
    if source.total is not None and source.total < _MANY:
        return _whole(rows, refs, source, counted), _LINES
    make_pieces = source.pieces if rows is source.rows else None
    if make_pieces is None:
        first = list(islice(rows, _MANY))
        rows = chain(first, rows)
        if len(first) < _MANY:
            return _whole(rows, refs, source, counted), _LINES
    if not _takes_columns(connection, path, query):
        return _lines(rows, refs, source, counted), _LINES
    from appdb.client.rows import columns

    size = columns.Size()
    pieces = columns.pieces_of(rows, size) if make_pieces is None else make_pieces(size)
    headers = {"content-type": columns.CONTENT_TYPE}
    return columns.frames(pieces, refs, source.is_frame, size, counted), headers


def _takes_columns(connection, path, query):
    """Whether the server knows frames of columns. An older one refuses the content type of a request without rows."""
    from appdb.client.rows.columns import CONTENT_TYPE

    if connection.takes_columns is None:
        try:
            with connection.send("POST", path, b"", query, {"content-type": CONTENT_TYPE}) as answer:
                answer.json()
        except Error as error:
            if error.code != "unsupported_media_type":
                raise
            connection.takes_columns = False
        else:
            connection.takes_columns = True
    return connection.takes_columns


def _whole(rows, refs, source, counted):
    """The lines of few rows: bytes can be sent again. Many bytes are sent as they are made."""
    blocks = _lines(rows, refs, source, counted)
    first = list(islice(blocks, 2))
    return chain(first, blocks) if len(first) > 1 else b"".join(first)


def _lines(rows, refs, source, counted):
    return _blocks(encoded_rows(rows, refs, source.is_frame, counted))


def _blocks(lines):
    """Joins lines to blocks, because each block is a write to the network."""
    block, size = [], 0
    for line in lines:
        block.append(line)
        size += len(line) + 1
        if size >= _BLOCK_BYTES:
            yield b"\n".join(block) + b"\n"
            block, size = [], 0
    if block:
        yield b"\n".join(block) + b"\n"
