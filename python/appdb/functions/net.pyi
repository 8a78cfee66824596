# Made by `npm run docs` from the code it describes; a test compares the two.
"""Functions of addresses."""

from typing import Any

from appdb import Expr, String

Text = Expr | str | None
Whole = Expr | int | None

FUNCTIONS: dict[str, Any]

def presigned_url(uri: Text, expiration_seconds: Whole, /) -> String:
    """The address by which anyone reads an object of s3://, gs:// or wasbs:// for some seconds, at most seven days."""
