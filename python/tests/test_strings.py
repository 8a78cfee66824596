"""Every function of the string namespace, as a method over a column."""

import pytest
from conftest import compute_cases

from appdb.functions import string

GIVES = [
    ("capitalize()", "éA", "Éa"), ("casefold()", "ß", "ss"), ("lower()", "ΑΣ", "ας"), ("upper()", "ß", "SS"), ("reverse()", "ab", "ba"),
    ("swapcase()", "aB", "Ab"), ("title()", "they're", "They'Re"), ("center(5, '*')", "a", "**a**"), ("ljust(3)", "a", "a  "),
    ("rjust(3, '-')", "a", "--a"), ("lstrip()", " a ", "a "), ("rstrip()", " a ", " a"), ("strip('xy')", "xay", "a"), ("strip()", "\x1f a", "a"),
    ("normalize('NFC')", "e\u0301", "é"), ("pad(3)", "a", "  a"), ("pad(3, side='right', fillchar='.')", "a", "a.."), ("pad(4, 'both')", "a", " a  "),
    ("removeprefix('a')", "ab", "b"), ("removesuffix('b')", "ab", "a"), ("repeat(2)", "ab", "abab"), ("repeat(-1)", "ab", ""),
    ("replace('a', 'b')", "aa", "bb"), ("replace('a', 'b', 1)", "aa", "ba"), ("replace('', '-')", "ab", "-a-b-"),
    ("replace_re('[0-9]+', '#')", "a1b22", "a#b#"), ("replace_re('[0-9]', '#', n=1)", "1b2", "#b2"), ("replace_re('A', '', flags=2)", "aA", ""),
    ("slice(1, 3)", "abcd", "bc"), ("slice(step=-1)", "abc", "cba"), ("slice_replace(1, 2, 'X')", "abc", "aXc"), ("zfill(4)", "-1", "-001"),
    ("slice_replace(stop=1, repl='X')", "abc", "Xbc"), ("slice_replace(1)", "abc", "a"),
    ("fill(5)", "aa bb cc", "aa bb\ncc"), ("fill(6, initial_indent='> ')", "aa bb", "> aa\nbb"), ("format()", "{{}}", "{}"), ("format(s)", "{}!", "{}!!"),
    ("isalnum()", "a1", True), ("isalpha()", "a1", False), ("isascii()", "é", False), ("isdecimal()", "²", False), ("isdigit()", "²", True),
    ("isidentifier()", "a b", False), ("islower()", "a1", True), ("isnumeric()", "½", True), ("isspace()", "", False), ("istitle()", "A B", True),
    ("isupper()", "É", True), ("contains('B')", "abc", False), ("contains('B', case=False)", "abc", True), ("contains_re('b.')", "abc", True),
    ("startswith('a')", "abc", True), ("endswith('a')", "abc", False), ("match('b')", "abc", False), ("match('A', case=False)", "abc", True),
    ("fullmatch('a')", "abc", False), ("fullmatch('a.c')", "abc", True), ("len()", "🎉é", 2), ("count('b+')", "abba", 1), ("find('b')", "abc", 1),
    ("find('z', 1)", "abc", -1), ("find('a', 1, 3)", "aaa", 1), ("index('c')", "abc", 2), ("rfind('a')", "aba", 2), ("rindex('a', end=2)", "aba", 0),
    ("findall('[0-9]')", "a1b2", '["1","2"]'), ("findall('(.)(.)')", "abcd", '[["a","b"],["c","d"]]'), ("split()", " a  b ", '["a","b"]'),
    ("split(',', 1)", "a,b,c", '["a","b,c"]'), ("rsplit(',', maxsplit=1)", "a,b,c", '["a,b","c"]'), ("splitlines()", "a\nb", '["a","b"]'),
    ("splitlines(keepends=True)", "a\nb", '["a\\n","b"]'), ("partition()", "a b c", '["a"," ","b c"]'), ("rpartition(',')", "a", '["","","a"]'),
    ("wrap(4)", "aa bb", '["aa","bb"]'),
]  # fmt: skip


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    head = "class A(Base, name='a'):\n    s: db.String | None\n"
    cases = [(f"s.{call}", [text]) for call, text, _ in GIVES]
    texts = compute_cases(tmp_path_factory.mktemp("texts"), head, cases)
    nulls = compute_cases(tmp_path_factory.mktemp("nulls"), head, [(expression, [None]) for expression, _ in cases])
    return {(call, text): pair for (call, text, _), pair in zip(GIVES, zip(texts, nulls))}


@pytest.mark.parametrize(("call", "text", "value"), GIVES)
def test_gives(given, call, text, value):
    result, of_null = given[call, text]
    assert (result, type(result), of_null) == (value, type(value), None)


def test_every_function_is_tried():
    assert {call.partition("(")[0] for call, _, _ in GIVES} == set(string.METHODS)
    assert set(string.FUNCTIONS) - set(string.METHODS) == {"join"}


def test_join_takes_a_list_of_text(compute):
    source = "class A(Base, name='a'):\n    j: db.Json | None\n    x = fn.string.join('-', j)\n"
    assert compute(source, ['["a","b"]'], ["[]"], [None])[0] == [{"x": "a-b"}, {"x": ""}, {"x": None}]


def test_the_stubs_name_every_function():
    from pathlib import Path

    stub = Path(string.__file__).with_suffix(".pyi").read_text()
    front = Path(string.__file__).with_name("__init__.pyi").read_text()
    for name in string.FUNCTIONS:
        assert f"def {name}(self: Text" in stub or f"def {name}(sep: Text" in stub, name
        assert f"    {name} as {name},\n" in front, name
