"""Office files (ECMA-376): archives of XML parts, which are read as streams within bounds.

Nothing is unpacked to disk, images and archives inside are not opened, and XML cannot declare entities.
"""

import os
import posixpath
import struct
import zipfile
from xml.parsers import expat

# The list of an archive's parts is read into memory.
MAX_DIRECTORY_BYTES = 8_000_000
# XML of all parts that are read; text of large workbooks has some 100 MB.
MAX_XML_BYTES = 1_000_000_000
# Real XML shrinks to a twentieth. Small parts may shrink more.
MAX_RATIO = 250
_RATIO_FROM = 10_000_000
MAX_DEPTH = 500
MAX_TAG_BYTES = 64_000_000
# Slides, sheets, relations and styles, which are read into memory.
MAX_LISTED = 100_000
_PIECE = 1 << 16
_END, _END_BYTES = b"PK\x05\x06", 22
_MAIN = (
    ("docx", ("wordprocessingml", "ms-word")),
    ("pptx", ("presentationml", "ms-powerpoint")),
    ("xlsx", ("spreadsheetml", "ms-excel")),
)


class OfficeFile:
    """An open office file: `format`, `main` (the name of its main part), and its parts."""

    def __init__(self, path):
        _check_directory(path)
        self._read = 0
        self._zip = zipfile.ZipFile(path)
        try:
            self.format, self.main = self._find_main()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._zip.close()

    def has(self, part):
        return part in self._zip.NameToInfo

    def parse(self, part, reader):
        """Reads a part, and yields what `reader.take()` gives.

        It calls `reader.start(name, attributes)`, `.end(name)` and `.text(text)` with names without namespaces. Raises ValueError beyond the bounds.
        """
        with self._open(part) as stream:
            yield from parse_xml(self._pieces(stream), reader, allows_dtd=False)

    def collect(self, part, reader):
        """Reads a whole part, if the file has it; returns the reader."""
        if self.has(part):
            for _ in self.parse(part, reader):
                pass
        return reader

    def related(self, part):
        """The parts that a part refers to: `(id, last part of the type, name)`. The file itself is the part ``."""
        folder, name = posixpath.split(part)
        found = self.collect(posixpath.join(folder, "_rels", f"{name}.rels"), _Relations()).found
        return [(id, type.rpartition("/")[2], _resolved(folder, target)) for id, type, target in found]

    def properties(self):
        """Title, author and so on, by the names of Dublin Core."""
        parts = [name for _, type, name in self.related("") if type == "core-properties"]
        return self.collect(parts[0], _Properties()).found if parts else {}

    def _find_main(self):
        main = next((name for _, type, name in self.related("") if type == "officeDocument"), None)
        if main is None or not self.has(main):
            raise ValueError("the file is an archive, and not a document of a known format")
        type = self.collect("[Content_Types].xml", _Types()).type_of(main)
        if "sheet.binary" in type:
            raise ValueError("the workbook is in Excel's binary format (XLSB); save it as XLSX")
        for format, words in _MAIN:
            if any(word in type for word in words):
                return format, main
        raise ValueError(f"the file is an office document of an unknown type, {type[:100] or 'without a name'}")

    def _open(self, part):
        info = self._zip.NameToInfo.get(part)
        if info is None:
            raise ValueError(f"the document lacks its part {part[:200]}")
        if info.header_offset < 0:
            raise zipfile.BadZipFile("a part begins before the file")
        if info.flag_bits & 1:
            raise ValueError("the document is encrypted; store it without a password")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"the part {part[:200]} is compressed in a way that office files do not use")
        # zipfile stops at the declared size, so that it is a bound.
        if info.file_size > _RATIO_FROM and info.file_size > MAX_RATIO * info.compress_size:
            raise ValueError(f"the part {part[:200]} unpacks to {info.file_size:,} bytes from {info.compress_size:,}")
        return self._zip.open(info)

    def _pieces(self, stream):
        while piece := stream.read(_PIECE):
            self._read += len(piece)
            if self._read > MAX_XML_BYTES:
                raise ValueError(f"the document has more than {MAX_XML_BYTES:,} bytes of XML")
            yield piece


def parse_xml(pieces, reader, allows_dtd):
    """Parses XML piece by piece. Entities are never declared, so that none can grow or name a file."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    depth = 0

    def start(name, attributes):
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"the XML is nested more than {MAX_DEPTH} levels deep")
        reader.start(_local(name), {_attribute(key): value for key, value in attributes.items()})

    def end(name):
        nonlocal depth
        depth -= 1
        reader.end(_local(name))

    def refuse(*_):
        raise ValueError("the XML declares entities or a document type, which are not allowed")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = refuse
    if not allows_dtd:
        parser.StartDoctypeDeclHandler = refuse
    waiting, fed, wanted = bytearray(), 0, 0
    for piece in pieces:
        waiting += piece
        if len(waiting) < wanted:
            continue
        parser.Parse(bytes(waiting), False)
        fed += len(waiting)
        waiting.clear()
        # Expat reads a tag that is not complete again from its start: as many new bytes keep the time linear.
        wanted = fed - parser.CurrentByteIndex
        if wanted > MAX_TAG_BYTES:
            raise ValueError(f"a tag of the XML has more than {MAX_TAG_BYTES:,} bytes")
        yield from reader.take()
    parser.Parse(bytes(waiting), True)
    yield from reader.take()


class Reader:
    """A reader of XML that looks at nothing and gives nothing."""

    def start(self, name, attributes):
        pass

    def end(self, name):
        pass

    def text(self, text):
        pass

    def take(self):
        return ()


def check_count(listed, most=MAX_LISTED):
    """Raises ValueError if a list of the file has as many entries as are read."""
    if len(listed) >= most:
        raise ValueError(f"the document has a list of more than {most:,} entries")


class _Relations(Reader):
    def __init__(self):
        self.found = []

    def start(self, name, attributes):
        if name == "Relationship" and attributes.get("TargetMode") != "External":
            check_count(self.found)
            self.found.append([attributes.get(key, "") for key in ("Id", "Type", "Target")])


class _Types(Reader):
    def __init__(self):
        self._parts = {}
        self._endings = {}

    def start(self, name, attributes):
        type = attributes.get("ContentType", "")
        check_count(self._parts)
        check_count(self._endings)
        if name == "Override":
            self._parts[attributes.get("PartName", "").lstrip("/")] = type
        elif name == "Default":
            self._endings[attributes.get("Extension", "").lower()[:20]] = type

    def type_of(self, part):
        return self._parts.get(part) or self._endings.get(part.rpartition(".")[2].lower(), "")


class _Properties(Reader):
    _NAMES = frozenset(("title", "creator", "subject", "keywords", "created", "modified"))

    def __init__(self):
        self.found = {}
        self._name = None

    def start(self, name, attributes):
        self._name = name if name in self._NAMES else None

    def end(self, name):
        self._name = None

    def text(self, text):
        if self._name is not None:
            self.found[self._name] = (self.found.get(self._name, "") + text)[:10_000]


def _local(name):
    return name.rpartition(" ")[2]


def _attribute(name):
    """The name without its namespace; `r:id` for the id of a relation, because some elements also have an `id`."""
    space, _, local = name.rpartition(" ")
    return f"r:{local}" if space.endswith("/relationships") else local


def _resolved(folder, target):
    return posixpath.normpath(target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target))


def _check_directory(path):
    """Refuses archives with a long list of parts, before it is read."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        tail_at = max(0, size - _END_BYTES - 0xFFFF)
        file.seek(tail_at)
        tail = file.read()
        at = tail.rfind(_END)
        if at < 0 or len(tail) - at < _END_BYTES:
            raise ValueError("the document is broken or cut off: its archive has no end")
        bytes_of_list = struct.unpack_from("<L", tail, at + 12)[0]
        # A larger form of the same record stands before it; zipfile prefers it.
        if tail[max(0, at - 20) :].startswith(b"PK\x06\x07") and tail_at + at >= 76:
            file.seek(tail_at + at - 76)
            bytes_of_list = max(bytes_of_list % 0xFFFFFFFF, struct.unpack_from("<Q", file.read(56), 40)[0])
    if bytes_of_list > MAX_DIRECTORY_BYTES:
        raise ValueError(f"the archive has a list of parts of {bytes_of_list:,} bytes; at most {MAX_DIRECTORY_BYTES:,}")
