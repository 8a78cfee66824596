"""Hints of servers in the words of the library: they name commands, and a program calls functions."""

import re

_PATH = r"([\w.:/-]+)"
#: What a hint says to users of the command, and what a program writes.
_FORMS = [
    (re.compile(r"--on-error (\w+)"), r'on_error="\1"'),
    (re.compile(rf"cli drop {_PATH} --cascade"), r'db.drop_table("\1", force=True)'),
    (re.compile(rf"cli drop {_PATH}"), r'db.drop_table("\1")'),
    (re.compile(rf"cli drop-dir {_PATH} -r"), r'db.drop_dir("\1", force=True)'),
    (re.compile(rf"cli rename {_PATH} (\w+)"), lambda found: _move(found[1], found[2])),
    (
        re.compile(r"Create it first: cli schema update <file> <target>"),
        "If it was moved, open it again at its path: db.get_table(path). db.list_tables() has the paths.",
    ),
    (re.compile(rf"cli ls {_PATH}"), r'db.ls("\1")'),
    (re.compile(r"cli ls\b"), "db.ls()"),
    (re.compile(r"See the new plan: cli schema diff .*"), "Open the table again with db.get_table(), then try again."),
    (re.compile(r" and run `cli service update`"), ""),
    (re.compile(r"To run it, update the tables again: cli schema update <file> <target>"), "To run it, make the same call again."),
    (re.compile(r"To run it: cli recompute \S+"), "To run it, call recompute_columns() again."),
    (re.compile(r"change the column and run `cli schema update`"), 'replace the column: add_computed_column(..., if_exists="replace")'),
    (re.compile(r"^Run cli schema update again\."), "Make the same call again."),
    (re.compile(r"\brun the update again"), "try again"),
    (re.compile(r"An insert route creates rows\."), 'Or write if_not_exists="insert".'),
    (re.compile(r"send a greater timeout_ms"), "give a greater timeout="),
]


def for_program(hint):
    """A hint of a server for the caller of a function. None stays None."""
    for form, written in _FORMS if hint else ():
        hint = form.sub(written, hint)
    return hint


def _move(path, name):
    folder, slash, _ = path.rpartition("/")
    return f'db.move("{path}", "{folder}{slash}{name}")'
