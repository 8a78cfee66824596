"""What declarations of views refuse, at their line and with what to write."""

import textwrap

import pytest
from conftest import HEAD

TOP = (
    "from typing import Iterator, TypedDict\n"
    "from appdb.functions.string import string_splitter\n"
    "class R(TypedDict):\n"
    "    word: str\n"
    "@db.iterator\n"
    "def words(text: str) -> Iterator[R]:\n"
    "    yield {}\n"
    "class Docs(Base, name='docs'):\n"
    "    id = db.Column(type=db.Int, primary_key=True)\n"
    "    title: db.String\n"
    "    body: db.String | None\n"
    "    up = upper(title)\n"
    "    half = db.Column(value=title + 'x', stored=False)\n"
    "    made = db.Column(type=db.Timestamp | None, renamed_from='day')\n"
    "class Other(Base, name='other'):\n"
    "    n: db.Int\n"
)
SPLIT = "iterator=string_splitter(Docs.body, separators='sentence')"

# Name: (lines, parts of the detail, part of the hint, the marked line).
REFUSED = {
    "a base that is text": ("class V(Base, name='v', base='docs'):\n    pass\n", ["base= of the model V", "'docs'"], "base=Docs", 1),
    "a base that is a column": ("class V(Base, name='v', base=Docs.id):\n    pass\n", ["not a model"], "Name a model", 1),
    "a base that is its own Base": ("class V(Base, name='v', base=Base):\n    pass\n", ["not a model"], "Name a model", 1),
    "a model of another Base": (
        "B2 = db.model_base()\nclass V(B2, name='v', base=Docs):\n    pass\n",
        ["names Docs", "another model_base()"],
        "one base",
        2,
    ),
    "a base that is None": ("class V(Base, name='v', base=None):\n    n: db.Int\n", ["is None, not a model"], "Name a model", 1),
    "a base that is a query function": (
        "@db.query\ndef q(): return Docs.where(Docs.id > 1)\nclass V(Base, name='v', base=q):\n    pass\n",
        ["the function q", "@db.query"],
        "base=Docs.where(...)",
        3,
    ),
    "an iterator that is None": (
        "class V(Base, name='v', base=Docs, iterator=None):\n    pass\n",
        ["iterator=", "is None"],
        "string_splitter(Docs.body",
        1,
    ),
    "a test with is None": (
        "class V(Base, name='v', base=Docs.where(Docs.body is None)):\n    pass\n",
        ["the constant False"],
        "Docs.column == None",
        1,
    ),
    "a test with is None in a larger condition": (
        "class V(Base, name='v', base=Docs.where((Docs.body is not None) & (Docs.id > 1))):\n    pass\n",
        ["'Docs.body is not None'", "constant True"],
        "Docs.body != None",
        1,
    ),
    "a constant condition": ("class V(Base, name='v', base=Docs.where(True)):\n    pass\n", ["the constant True"], "of Docs", 1),
    "a condition with the present time": (
        "class V(Base, name='v', base=Docs.where((Docs.id > 1) & (Docs.made < fn.now()))):\n    pass\n",
        ["calls now()", "when it is written"],
        "V.where(...)",
        1,
    ),
    "a bare column of the base": (
        "class V(Base, name='v', base=Docs):\n    n = upper(title)\n",
        ["'title' is a column of Docs"],
        "Write Docs.title",
        2,
    ),
    "a bare column of the base's base": (
        "class U(Base, name='u', base=Docs):\n    m = Docs.id + 1\nclass V(Base, name='v', base=U.select(U.m)):\n    n = m + up\n",
        ["'m' is a column of U"],
        "Write U.m",
        4,
    ),
    "a call of an iterator without its arguments": (
        "class V(Base, name='v', base=Docs, iterator=words()):\n    pass\n",
        ["words() is called without its argument 'text'"],
        "It takes: text",
        1,
    ),
    "a call of an iterator over a constant": (
        "class V(Base, name='v', base=Docs, iterator=words('abc')):\n    pass\n",
        ["a call of words without a column"],
        "Give it a column",
        1,
    ),
    "a generator function without its mark": (
        "def letters(text):\n    yield {'word': text}\nclass V(Base, name='v', base=Docs, iterator=letters(Docs.title)):\n    pass\n",
        ["calls letters, which is not marked @db.iterator"],
        "Write @db.iterator above letters",
        3,
    ),
    "a class of rows without its mark": (
        "class letters:\n    def __init__(self, text): self.text = text\n    def __next__(self): return {}\n"
        "class V(Base, name='v', base=Docs, iterator=letters(Docs.title)):\n    pass\n",
        ["calls letters, which is not marked @db.iterator"],
        "Write @db.iterator above letters",
        4,
    ),
    "a call of a library iterator over a constant": (
        "class V(Base, name='v', base=Docs, iterator=string_splitter('abc', 'sentence')):\n    pass\n",
        ["a call of an iterator without a column"],
        "Give it a column",
        1,
    ),
    "an output as a member of the iterator": (
        "class V(Base, name='v', base=Docs, iterator=words(Docs.title)):\n    n = upper(words.word)\n",
        ["The iterator words has no 'word'"],
        "write word alone",
        2,
    ),
    "an index of an iterator view over a column of its base": (
        "class V(Base, name='v', base=Docs, iterator=words(Docs.title)):\n    __indexes__ = [db.BtreeIndex(Docs.title)]\n",
        ["'title'", "a column of Docs"],
        "__indexes__ of Docs",
        2,
    ),
    "a list of separators": (
        "class V(Base, name='v', base=Docs, iterator=string_splitter(Docs.body, separators=['paragraph', 'sentence'])):\n    pass\n",
        ["takes a text for 'separators'", "a list"],
        'separators="paragraph,sentence"',
        1,
    ),
    "a renamed column": (
        "class V(Base, name='v', base=Docs.where(Docs.day > 1)):\n    pass\n",
        ["no column 'day'", "'made' is renamed from it"],
        "Write Docs.made",
        1,
    ),
    "a join": (
        "class V(Base, name='v', base=Docs.join(Other, on=Docs.id == Other.n)):\n    pass\n",
        ["uses join()"],
        "Use join() in queries over V.",
        1,
    ),
    "group_by": ("class V(Base, name='v', base=Docs.group_by(Docs.id)):\n    pass\n", ["uses group_by()"], "queries over V", 1),
    "order_by": ("class V(Base, name='v', base=Docs.order_by(Docs.id)):\n    pass\n", ["uses order_by()"], "queries over V", 1),
    "limit": ("class V(Base, name='v', base=Docs.limit(3)):\n    pass\n", ["uses limit()"], "queries over V", 1),
    "distinct": ("class V(Base, name='v', base=Docs.distinct()):\n    pass\n", ["uses distinct()"], "queries over V", 1),
    "a condition over another model": (
        "class V(Base, name='v', base=Docs.where(Other.n > 1)):\n    pass\n",
        ["'n'", "Other"],
        "Docs",
        1,
    ),
    "a value without a name": (
        "class V(Base, name='v', base=Docs.select(Docs.id, upper(Docs.title))):\n    pass\n",
        ["upper(title)", "without a name"],
        "select(value=upper(title))",
        1,
    ),
    "a type without a value": (
        "class V(Base, name='v', base=Docs):\n    n: db.Int\n",
        ["'n'", "view V", "no rows of its own"],
        "Declare 'n' in Docs",
        2,
    ),
    "a type of db.Column": (
        "class V(Base, name='v', base=Docs):\n    n = db.Column(type=db.Int)\n",
        ["'n'", "no rows of its own"],
        "Declare 'n' in Docs",
        2,
    ),
    "a primary key": (
        "class V(Base, name='v', base=Docs):\n    n = db.Column(value=Docs.id + 1, primary_key=True)\n",
        ["primary_key="],
        "Leave primary_key= out.",
        2,
    ),
    "a name that the view shows": (
        "class V(Base, name='v', base=Docs):\n    title = upper(Docs.body)\n",
        ["'title'", "Docs already"],
        "another name",
        2,
    ),
    "a name that the view shows, in upper case": (
        "class V(Base, name='v', base=Docs):\n    Title = upper(Docs.body)\n",
        ["'Title'"],
        "another name",
        2,
    ),
    "a column that select leaves out": (
        "class V(Base, name='v', base=Docs.select(Docs.id)):\n    n = upper(Docs.title)\n",
        ["'n' reads 'title'", "does not select"],
        ".select(Docs.title, ...)",
        2,
    ),
    "a column of another model": (
        "class V(Base, name='v', base=Docs):\n    m = Other.n + 1\n",
        ["'m' reads 'n' of Other"],
        "Its columns are",
        2,
    ),
    "an aggregate": (
        "class V(Base, name='v', base=Docs):\n    m = fn.sum(Docs.id)\n",
        ["value of many rows"],
        "in a function marked @query",
        2,
    ),
    "an iterator without a base": (f"class V(Base, name='v', {SPLIT}):\n    pass\n", ["no base="], "base=Docs", 1),
    "an iterator that is not called": (
        "class V(Base, name='v', base=Docs, iterator=string_splitter):\n    pass\n",
        ["not a call of an iterator"],
        "string_splitter(Docs.body",
        1,
    ),
    "an iterator that is a value": (
        "class V(Base, name='v', base=Docs, iterator=Docs.body):\n    pass\n",
        ["not a call of an iterator"],
        "string_splitter(Docs.body",
        1,
    ),
    "an iterator over another model": (
        "class V(Base, name='v', base=Other, iterator=words(Docs.title)):\n    pass\n",
        ["reads 'title' of Docs"],
        "columns of Other",
        1,
    ),
    "a column with an output's name": (
        "class V(Base, name='v', base=Docs, iterator=words(Docs.title)):\n    word = upper(Docs.title)\n",
        ["'word'"],
        "another name",
        2,
    ),
    "a column called pos": (
        "class V(Base, name='v', base=Docs, iterator=words(Docs.title)):\n    pos = Docs.id + 1\n",
        ["'pos'"],
        "another name",
        2,
    ),
    "a selected value with an output's name": (
        "class W(Base, name='w', base=Docs.select(Docs.id, Docs.title, word=Docs.up), iterator=words(Docs.title)):\n    pass\n",
        ["'word'"],
        "",
        1,
    ),
    "a number of rows": (
        "class V(Base, name='v', base=Docs.sample(n=3)):\n    pass\n",
        ["uses sample(n=3)", "whether a row is one of 3 depends on the other rows"],
        "Write Docs.sample(fraction=0.1), or use sample(n=3) in queries over V.",
        1,
    ),
    "a sample without a key": (
        "class V(Base, name='v', base=Other.sample(fraction=0.5)):\n    pass\n",
        ["by their primary key, and Other has none"],
        "Declare one in Other",
        1,
    ),
    "a sample of made rows": (
        f"class P(Base, name='p', base=Docs, {SPLIT}):\n    pass\nclass V(Base, name='v', base=P.sample(fraction=0.5)):\n    pass\n",
        ["the rows of P are made of those of Docs"],
        "base=Docs.sample(fraction=0.5)",
        3,
    ),
    "a sample by a hidden key": (
        "class P(Base, name='p', base=Docs.select(Docs.title)):\n    pass\nclass V(Base, name='v', base=P.sample(fraction=0.5)):\n    pass\n",
        ["P does not show 'id'"],
        "Add it to select() in base= of P",
        3,
    ),
    "a stratified sample": (
        "class V(Base, name='v', base=Docs.sample(fraction_per_stratum=0.5, stratify_by=Docs.title)):\n    pass\n",
        ["sample(fraction_per_stratum=) is not supported yet"],
        "Draw from the rows of each value: where(...).sample(n=100)",
        1,
    ),
    "itself": ("class V(Base, name='v', base=V):\n    pass\n", ["V"], "", 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_declaration_that_a_view_cannot_have_is_refused_at_its_line(project, name):
    source, parts, hint, line = REFUSED[name]
    error = project.error(TOP + source)
    assert error["code"] == "app_invalid"
    for part in parts:
        assert part in error["detail"], error
    assert hint in error["hint"], error
    lines = (textwrap.dedent(HEAD) + TOP + source).splitlines()
    first = lines.index(source.splitlines()[0])
    assert error["source"] == {"file": "app.py", "line": first + line}, (error, first)
