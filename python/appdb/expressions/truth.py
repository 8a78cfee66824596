"""Advice for places where Python needs the truth value of a column: `if`, `and`, `in`, `max()`."""

import os
import sys

from appdb._folder import LIBRARY_FOLDER
from appdb.declare.errors import AppFileError

_COMPARING = ("max", "min", "sorted", "any", "all")


def no_truth_value(text):
    """Makes the error for an expression whose truth value is needed while the file is read."""
    return AppFileError(f"{text} has no truth value while the file is read; a row gives it one.", _hint())


def _hint():
    frame = sys._getframe(2)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(LIBRARY_FOLDER):
        frame = frame.f_back
    asking = _instruction(frame)
    import linecache  # Only for an error.
    import re

    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    if asking == "CONTAINS_OP":
        return "Write column.isin([...]) in place of `column in [...]`, and ~column.isin([...]) in place of `not in`."
    if asking.startswith("CALL"):
        found = re.search(rf"\b({'|'.join(_COMPARING)})\(", line)
        if found is not None:
            return f"Python's {found[1]}() compares once, when the file is read. Compute it in a function marked @udf."
    if re.search(r"\bif\b.*\belse\b", line):
        return "Choose in a function marked @udf; a query compares: (param == None) | (Model.column == param)"
    statement = re.match(r"\s*(if|elif|while|assert)\b", line)
    if statement and not re.search(r"\b(and|or|not)\b", line):
        return f"Put the condition into where(...) of a query, or the whole `{statement[1]}` into a function marked @udf."
    return "Write & | ~ in place of and, or, not, and put each comparison in parentheses: (a > 1) & (a < 9)"


def _instruction(frame):
    from opcode import opname

    code = frame.f_code.co_code
    return opname[code[frame.f_lasti]] if 0 <= frame.f_lasti < len(code) else ""
