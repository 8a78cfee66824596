"""A function's digest covers its text and the parts of its module that it calls; nothing else changes it."""

SOURCE = """
LIMIT = 3
WORDS = ("a", "b")

def helper(text):
    return inner(text)[:LIMIT]

def inner(text):
    return [text for _ in WORDS][0]

def other(text):
    return text

class Shape:
    def show(self, text):
        return text * 2

@db.udf
def short(text: str) -> str:
    return helper(text) + Shape().show(text)

@db.udf
def plain(text: str) -> str:
    return text

class A(Base, name='a'):
    s: db.String
    x = short(s)
    y = plain(s)
"""


def digests(project, source):
    return {fn["name"]: fn["digest"] for fn in project.manifest(source)["functions"]}


def test_what_a_function_reaches_in_its_module_is_part_of_its_code(project):
    first = digests(project, SOURCE)
    for before, after in [
        ("LIMIT = 3", "LIMIT = 4"),
        ('("a", "b")', '("a", "c")'),
        ("inner(text)[:LIMIT]", "inner(text)[1:LIMIT]"),
        ("for _ in WORDS][0]", "for _ in WORDS][1]"),
        ("text * 2", "text * 3"),
        ("helper(text) + Shape", "helper(text) +  Shape"),
    ]:
        changed = digests(project, SOURCE.replace(before, after))
        assert changed["short"] != first["short"], after
        assert changed["plain"] == first["plain"], after


def test_the_rest_of_the_file_is_not(project):
    first = digests(project, SOURCE)
    more = SOURCE.replace("def other(text):\n    return text", "def other(text):\n    return text + '!'")
    more = more.replace("    y = plain(s)", "    y = plain(s)\n    z: db.Int | None")
    assert more.count("z: db.Int") == 1
    assert digests(project, more) == first
