# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions of documents, each also a method: `paper.extract_text()`."""

from typing import Any

from appdb import Json, String

FUNCTIONS: dict[str, Any]

def extract_text(self: Any, /) -> String:
    """The text: empty lines between paragraphs, tabs between cells. Text, Markdown and CSV stay as they are."""

def get_metadata(self: Any, /) -> Json:
    """`{"size", "format", "title", "author", "subject", "keywords", "created", "modified", "pages"}`; null for unknown ones."""
