"""A user function as people write them: a few string operations."""

import appdb as db


@db.udf
def shorten(text: str) -> str:
    words = text.split()
    return " ".join(words[:3]) + ("..." if len(words) > 3 else "")
