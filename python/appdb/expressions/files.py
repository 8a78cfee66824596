"""Properties of files: `picture.fileurl`, `picture.localpath`."""

from appdb.declare.errors import AppFileError
from appdb.expressions.expr import Expr, article
from appdb.kinds import rules


class FileAddress(Expr):
    """A file whose `fileurl` or `localpath` was asked for: a program that collects rows gets that and not the file."""

    __slots__ = ("asked",)

    def __init__(self, expr, asked):
        self.asked = asked
        for attribute in Expr.__slots__:
            setattr(self, attribute, getattr(expr, attribute))


def file_of(expr, name):
    """`picture.fileurl`: the address that answers show for the file; `picture.localpath`: the path of a local copy.

    Raises AppFileError for other values.
    """
    if rules(expr._kind).check is None:
        raise AppFileError(f"{expr._text}.{name} is for media; {expr._text} is {article(expr)}.", f"Leave .{name} out.")
    owner = getattr(expr, "_owner", None)
    if owner is not None and owner.is_bound:
        return FileAddress(expr, name)
    if name == "localpath":
        raise AppFileError(
            f"{expr._text}.localpath is available in functions alone.",
            "Give the column to a @udf: a Video, Audio or Document parameter gets the path of its file.",
        )
    return expr
