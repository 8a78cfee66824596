"""Properties of files: `picture.fileurl`."""

from appdb.declare.errors import AppFileError
from appdb.expressions.expr import article
from appdb.kinds import rules


def file_of(expr, name):
    """`picture.fileurl`: the address that answers show for the file. Raises AppFileError for other values."""
    if rules(expr._kind).check is None:
        raise AppFileError(f"{expr._text}.{name} is for media; {expr._text} is {article(expr)}.", f"Leave .{name} out.")
    if name == "localpath":
        raise AppFileError(
            f"{expr._text}.localpath is available in functions alone.",
            "Give the column to a @udf: a Video, Audio or Document parameter gets the path of its file.",
        )
    return expr
