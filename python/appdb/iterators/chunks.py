"""Chunks of text from a stream of pieces: what a chunk begins with, and its cuts at a limit of characters or tokens.

Memory does not grow with the document: of a chunk with a limit only the text up to the next cut is held.
"""

from bisect import bisect_right

# Characters of a chunk without a limit.
MAX_CHUNK = 64_000_000
# A text below this many characters per token of the limit is looked at once more text is there.
_CHARS_PER_TOKEN = 8


class Piece:
    """A part of a document: `begins` a chunk; `joint` is what joins it to the text before; `start` is kept for the
    chunk that begins in it."""

    __slots__ = ("text", "begins", "joint", "start")

    def __init__(self, text, begins, joint, start):
        self.text = text
        self.begins = begins
        self.joint = joint
        self.start = start


def whole_chunks(pieces):
    """Yields (text, start) of each chunk. Raises ValueError for one with more than MAX_CHUNK characters."""
    texts, start, length = [], None, 0
    for piece in pieces:
        if piece.begins and texts:
            yield "".join(texts), start
            texts, length = [], 0
        if not texts:
            start = piece.start
        else:
            texts.append(piece.joint)
        texts.append(piece.text)
        length += len(piece.joint) + len(piece.text)
        if length > MAX_CHUNK:
            raise ValueError(f"a chunk has more than {MAX_CHUNK:,} characters; add 'char_limit' to the separators")
    if texts:
        yield "".join(texts), start


def limited_chunks(pieces, limit):
    """Yields (text, start) of each chunk; those longer than the limit are cut. `limit`: CharLimit or TokenLimit."""
    cutter = None
    for piece in pieces:
        if piece.begins and cutter is not None:
            yield from cutter.end()
            cutter = None
        if cutter is None:
            cutter = _Cutter(limit)
        yield from cutter.add(piece)
    if cutter is not None:
        yield from cutter.end()


class _Cutter:
    """The text of a chunk from its last cut on, and where its pieces begin."""

    def __init__(self, limit):
        self._limit = limit
        self._enough = limit.enough
        self._text = ""
        self._at = 0  # Where the next chunk begins.
        self._covered = 0  # Characters from there on that the last chunk has too.
        self._places, self._starts = [], []

    def add(self, piece):
        if self._starts:
            self._text += piece.joint
        self._places.append(len(self._text))
        self._starts.append(piece.start)
        self._text += piece.text
        yield from self._cut(is_last=False)

    def end(self):
        yield from self._cut(is_last=True)
        rest = self._text[self._at :]
        if rest[self._covered :].strip():
            yield self._chunk(len(self._text))

    def _cut(self, is_last):
        while is_last or len(self._text) - self._at > self._enough:
            found = self._limit.cut(self._text, self._at, self._covered)
            if found is None:
                self._enough = max(self._limit.enough, 2 * (len(self._text) - self._at))
                return
            self._enough = self._limit.enough
            end, after = found
            if self._text[self._at + self._covered : end].strip():
                yield self._chunk(end)
            self._at, self._covered = after, end - after
            if self._at > len(self._text) // 2:
                self._compact()

    def _chunk(self, end):
        text = self._text[self._at : end]
        first = self._at + len(text) - len(text.lstrip())
        return text.strip(), self._starts[max(0, bisect_right(self._places, first) - 1)]

    def _compact(self):
        """Drops what is before the next chunk."""
        place = max(0, bisect_right(self._places, self._at) - 1)
        self._text = self._text[self._at :]
        self._places = [max(0, one - self._at) for one in self._places[place:]]
        self._starts = self._starts[place:]
        self._at = 0


class CharLimit:
    """At most `limit` characters. A cut follows the last white space in the second half of the chunk, if there is one.

    The next chunk begins `overlap` characters before the cut, and there at the next word; without an overlap where its
    first new word would not fit otherwise.
    """

    def __init__(self, limit, overlap):
        self.enough = limit
        self._limit, self._overlap = limit, overlap

    def cut(self, text, at, covered):
        """(end of the chunk, start of the next one) of a text from `at` on; None if it fits.

        The first `covered` characters are those of the last chunk; an end at them makes no chunk.
        """
        end = at + self._limit
        if len(text) <= end:
            return None
        if not text[end].isspace():
            low = at + max(self._limit // 2, covered)
            last = max(text.rfind(" ", low, end), text.rfind("\n", low, end), text.rfind("\t", low, end))
            if last < 0 and covered and text[at + covered - 1].isspace():
                return at + covered, at + covered
            end = last + 1 if last >= 0 else end
        return end, max(at, _word_from(text, end - self._overlap, end))


class TokenLimit:
    """At most `limit` tokens of an encoding of tiktoken. Cuts are between tokens, and never inside of a character."""

    def __init__(self, limit, overlap, encoding):
        self.enough = limit * _CHARS_PER_TOKEN
        self._limit, self._overlap = limit, overlap
        self._encoding = encoding

    def cut(self, text, at, covered):
        """(end of the chunk, start of the next one) of a text from `at` on; None if it fits."""
        window = self.enough + covered
        while True:
            part = text[at : at + window]
            is_all = at + window >= len(text)
            tokens = self._encoding.encode(part, disallowed_special=())
            if len(tokens) > self._limit:
                return self._between(self._encoding.decode_with_offsets(tokens)[1], at, covered)
            if is_all:
                return None
            window *= 2

    def _between(self, places, at, covered):
        """The cut before the token behind the limit. `places`: the character in which each token begins."""
        end = places[self._limit]
        if end <= covered:
            if covered:  # The overlap leaves no room for more text.
                return at + covered, at + covered
            end = next((place for place in places if place > 0), None)  # A character with more tokens than the limit.
            return None if end is None else (at + end, at + end)
        after = next((place for place in places[self._limit - self._overlap : self._limit] if place > 0), end)
        return at + end, at + after


def _word_from(text, begin, end):
    """The first word from a place on; `end` if there is none before it, and the place itself in text without spaces."""
    if begin >= end or text[begin - 1 : begin].isspace():
        return begin
    space = text.find(" ", begin, end - 1)
    if space >= 0:
        return space + 1
    return end if text[end - 1].isspace() or text[end : end + 1].isspace() else begin


def token_encoding(name, model):
    """The encoding of tiktoken of a name, or of a model. Raises ValueError for unknown ones."""
    import tiktoken

    try:
        return tiktoken.get_encoding(name) if model is None else tiktoken.encoding_for_model(model)
    except (KeyError, ValueError) as error:
        wanted = f"encoding {name!r}" if model is None else f"model {model!r}"
        raise ValueError(f"tiktoken has no {wanted}: {error}") from None
