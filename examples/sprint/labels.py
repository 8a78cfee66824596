"""An iterator of this project: rows of one row, each with the type of a TypedDict."""

from typing import Iterator, TypedDict

import appdb as db


class Label(TypedDict):
    label: str


@db.iterator
def labels(text: str, mark: str) -> Iterator[Label]:
    """The words that begin with a mark, without it, each once."""
    for word in dict.fromkeys(text.split()):
        if word.startswith(mark) and word != mark:
            yield {"label": word.removeprefix(mark)}
