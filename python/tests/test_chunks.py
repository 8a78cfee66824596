"""How texts and documents become chunks: sentences, limits, headings, pages, metadata, and bounds of memory."""

import subprocess
import sys
import types

import document_files
import media_samples
import pytest
from conftest import LIBRARY, environment

from appdb.functions.document import document_splitter
from appdb.functions.string import string_splitter
from appdb.iterators import chunks, documents
from appdb.iterators.sentences import split_sentences


SENTENCES = {
    "Hello there. It is late.": ["Hello there.", "It is late."],
    'He asked "Why?" twice. "Go!" She left.': ['He asked "Why?" twice.', '"Go!"', "She left."],
    "(It rained.) Then it stopped!": ["(It rained.)", "Then it stopped!"],
    "It costs 3.14 euros at example.org. Fine.": ["It costs 3.14 euros at example.org.", "Fine."],
    "Dr. Lee and Mrs. Ng met Prof. Roy. They left.": ["Dr. Lee and Mrs. Ng met Prof. Roy.", "They left."],
    "See Fig. 3, e.g. Bern, cf. Rome. Right.": ["See Fig. 3, e.g. Bern, cf. Rome.", "Right."],
    "No. 5 is. No. Yes.": ["No. 5 is.", "No.", "Yes."],
    "Das ist z.B. Wien, Str. 5, Haus Nr. 5. Gut.": ["Das ist z.B. Wien, Str. 5, Haus Nr. 5.", "Gut."],
    "J. R. Doe served the U.S. Army at 5 p.m. The end.": ["J. R. Doe served the U.S. Army at 5 p.m.", "The end."],
    "So did I. Then he spoke.": ["So did I.", "Then he spoke."],
    "Wait... what? He paused... Then left.": ["Wait... what?", "He paused...", "Then left."],
    "1. Wash it. Dry it.\n2. Iron it.": ["1. Wash it.", "Dry it.", "2. Iron it."],
    "It was 1999. Then 2000.": ["It was 1999.", "Then 2000."],
    "One line\nof two. Next\n\nPart": ["One line\nof two.", "Next", "Part"],
    "What?! Yes!!! ok": ["What?!", "Yes!!! ok"],
    "他来了。他说：“走吧。”然后走了！": ["他来了。", "他说：“走吧。”", "然后走了！"],
    "「行く。」と言った。本当？はい。": ["「行く。」と言った。", "本当？", "はい。"],
    "¿Qué? ¡No! É bom.": ["¿Qué?", "¡No!", "É bom."],
    "I met Mr.": ["I met Mr."],
    "": [],
    " \n\n ": [],
}


@pytest.mark.parametrize("text", SENTENCES)
def test_sentences_end_where_the_rules_say(text):
    assert list(split_sentences(text)) == SENTENCES[text]


@pytest.mark.parametrize(
    "text",
    [
        "." * 400_000 + "a",
        ")" * 200_000 + ". " * 200_000,
        '. "' + "(" * 400_000,
        "." + " " * 400_000 + "b",
        "\n " * 200_000,
        "。」" * 200_000,
        "x" * 400_000 + ". Y",
        "1. " * 200_000,
    ],
    ids=range(8),
)
def test_hostile_texts_take_linear_time(text):
    steps = 0
    for _ in split_sentences(text):
        steps += 1
    assert steps <= len(text)


def texts(text, separators="char_limit", **options):
    return [one["text"] for one in string_splitter(text, separators, **options)]


def test_a_cut_follows_the_last_space_in_the_second_half():
    assert texts("one two three four", limit=9) == ["one two", "three", "four"]
    assert texts("one abcdefghijkl", limit=10) == ["one abcdef", "ghijkl"]
    assert texts("abcdefghij", limit=5) == ["abcde", "fghij"]
    assert texts("abcde fgh", limit=5) == ["abcde", "fgh"]
    assert texts("short", limit=5) == ["short"]
    assert texts("   ", limit=1) == [] and texts("a   b", limit=2) == ["a", "b"]


def test_the_next_chunk_begins_with_the_words_of_the_overlap():
    text = "one two three four five six seven eight"
    assert texts(text, limit=16, overlap=6) == ["one two three", "three four five", "five six seven", "seven eight"]
    assert texts("abcdefgh", limit=4, overlap=2) == ["abcd", "cdef", "efgh"]
    assert texts("一二三四五六七八", limit=4, overlap=1) == ["一二三四", "四五六七", "七八"]
    assert texts("one two", limit=100, overlap=50) == ["one two"]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 10, 50])
def test_chunks_keep_to_the_limit_and_to_all_of_the_text(limit):
    text = "Lorem ipsum dolor sit amet,  consetetur\nsadipscing elitr, abcdefghijklmnopqrstuvwxyz sed. " * 5
    for overlap in range(0, limit, max(1, limit // 3)):
        found = texts(text, limit=limit, overlap=overlap)
        assert all(0 < len(one) <= limit for one in found)
        at = 0
        for one in found:  # Each is a part of the text, and none of the text is left out.
            begin = text.index(one, max(0, at - limit))
            assert not text[at:begin].strip()
            at = max(at, begin + len(one))
        assert not text[at:].strip()
        if overlap == 0:
            assert "".join("".join(found).split()) == "".join(text.split())


def test_separators_combine_and_limits_cut_only_longer_chunks():
    text = "First one. Second, which is long.\n\nThird."
    assert texts(text, "paragraph") == ["First one. Second, which is long.", "Third."]
    assert texts(text, "sentence") == ["First one.", "Second, which is long.", "Third."]
    assert texts(text, "paragraph, SENTENCE,") == texts(text, "sentence")
    assert texts(text, "sentence,char_limit", limit=12) == ["First one.", "Second,", "which is", "long.", "Third."]
    assert texts(text, "") == [text]


class Words:
    """An encoding with a token for each word and each space, and three for a character that is not ASCII."""

    def encode(self, text, disallowed_special):
        assert disallowed_special == ()
        self._text, tokens, at = text, [], 0
        while at < len(text):
            if not text[at].isascii():
                tokens += [at] * 3
                at += 1
                continue
            end = at + 1
            while end < len(text) and text[end].isascii() and text[at].isspace() == text[end].isspace():
                end += 1
            tokens.append(at)
            at = end
        return tokens

    def decode_with_offsets(self, tokens):
        return self._text, list(tokens)


@pytest.fixture
def tiktoken(monkeypatch):
    made = types.ModuleType("tiktoken")
    made.asked = []

    def get(name):
        made.asked.append(name)
        if name == "nope":
            raise ValueError("Unknown encoding nope")
        return Words()

    made.get_encoding = made.encoding_for_model = get
    monkeypatch.setitem(sys.modules, "tiktoken", made)
    return made


def test_token_limit_counts_tokens_of_the_encoding(tiktoken):
    assert texts("a b c d e", "token_limit", limit=4) == ["a b", "c d", "e"]
    assert texts("a b c d e", "token_limit", limit=4, overlap=2) == ["a b", "b c", "c d", "d e"]
    assert texts("a b", "token_limit", limit=3) == ["a b"]
    assert tiktoken.asked == ["cl100k_base"] * 3
    texts("a", "token_limit", limit=3, tiktoken_encoding="o200k_base", tiktoken_target_model="gpt-4o")
    assert tiktoken.asked[-1] == "gpt-4o"
    with pytest.raises(ValueError, match="tiktoken has no encoding 'nope'"):
        texts("a", "token_limit", limit=3, tiktoken_encoding="nope")


def test_no_character_is_cut_between_its_tokens(tiktoken):
    assert texts("äöü", "token_limit", limit=1) == ["ä", "ö", "ü"]
    assert texts("äöü", "token_limit", limit=4) == ["ä", "ö", "ü"]
    assert texts("äöü", "token_limit", limit=6, overlap=3) == ["äö", "öü"]
    assert texts("äöüä", "token_limit", limit=3, overlap=1) == ["ä", "ö", "ü", "ä"]
    assert texts("äöüä", "token_limit", limit=4, overlap=3) == ["ä", "ö", "ü", "ä"]
    assert texts("a äöü b", "token_limit", limit=5, overlap=4) == ["a ä", "ö", "ü b"]
    long = "word " * 5_000
    assert "".join(texts(long, "token_limit", limit=700)).replace(" ", "") == long.replace(" ", "")
    assert all(len(one.split()) <= 350 for one in texts(long, "token_limit", limit=700))


def test_a_model_of_spacy_is_used_where_spacy_is_installed(monkeypatch):
    monkeypatch.setattr(documents, "_models", {})
    monkeypatch.setitem(sys.modules, "spacy", None)  # As if it were not installed.
    assert texts("a b. C d.", "sentence", spacy_model="en_core_web_sm") == ["a b.", "C d."]

    def load(model):
        if model == "nope":
            raise OSError("[E050] Can't find model 'nope'")

        def language(text):
            found = [types.SimpleNamespace(text=f"{one} ") for one in text.split()]
            return types.SimpleNamespace(sents=found)

        language.max_length = 1_000
        return language

    monkeypatch.setitem(sys.modules, "spacy", types.SimpleNamespace(load=load))
    monkeypatch.setattr(documents, "_models", {})
    assert texts("a b. C d.", "sentence", spacy_model="en_core_web_sm") == ["a", "b.", "C", "d."]
    assert texts("a b. C d.", "sentence") == ["a b.", "C d."]
    with pytest.raises(ValueError, match="spaCy has no model 'nope' here; add its package to requirements.txt"):
        texts("a", "sentence", spacy_model="nope")


MARKDOWN = "Before.\n\n# Top\n\nIntro. More.\n\n### Deep\n\nx\n\n## Next\n\ny\n"
HTML = """<html><head><title>The title</title></head><body>
<nav>menu</nav>
<h1>Top</h1>
<p>Intro. More.</p>
<table>
<tr><td>a</td>
<td>b</td></tr>
</table>
<aside>note</aside>

<h2>Next</h2>
<p>

y</p></body></html>"""


@pytest.fixture
def write(tmp_path):
    def made(name, content):
        path = tmp_path / name
        path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content, "utf-8")
        return str(path)

    return made


def rows(path, separators, **options):
    return list(document_splitter(path, separators, **options))


def test_headings_begin_chunks_and_say_where_they_are(write):
    path = write("a.md", MARKDOWN)
    found = rows(path, "heading", metadata="heading,title")
    assert [one["text"] for one in found] == ["Before.", "Top\n\nIntro. More.", "Deep\n\nx", "Next\n\ny"]
    assert [one["heading"] for one in found] == [
        {},
        {"h1": "Top"},
        {"h1": "Top", "h3": "Deep"},
        {"h1": "Top", "h2": "Next"},
    ]
    assert {one["title"] for one in found} == {"Top"}
    whole = rows(path, "", metadata="heading")
    assert len(whole) == 1 and whole[0]["heading"] == {}
    assert [one["text"] for one in rows(path, "paragraph")] == [
        "Before.",
        "Top",
        "Intro. More.",
        "Deep",
        "x",
        "Next",
        "y",
    ]
    assert [one["text"] for one in rows(path, "heading,sentence")][1:4] == ["Top", "Intro.", "More."]


def test_html_has_lines_and_leaves_tags_out(write):
    path = write("a.html", HTML)
    found = rows(path, "paragraph", metadata="sourceline,title,heading,page")
    assert [(one["text"], one["sourceline"]) for one in found] == [
        ("Top", 3),
        ("Intro. More.", 4),
        ("a\tb", 6),
        ("note", 9),
        ("Next", 11),
        ("y", 14),
    ]
    assert found[-1] == {
        "text": "y",
        "title": "The title",
        "heading": {"h1": "Top", "h2": "Next"},
        "sourceline": 14,
        "page": None,
    }
    kept = rows(path, "paragraph", skip_tags=["TABLE", "aside", "br"])
    assert [one["text"] for one in kept] == ["menu", "Top", "Intro. More.", "Next", "y"]
    assert rows(path, "paragraph", skip_tags=[])[0]["text"] == "menu"
    many = write("b.html", "<p>a\n" * 40_000)
    lines = [one["sourceline"] for one in rows(many, "paragraph", metadata="sourceline")]
    assert lines == list(range(1, 40_001))


def test_pdf_has_pages_boxes_and_images(write):
    path = write("a.pdf", document_files.pdf(["one one. Two", "", "three"]))
    found = rows(path, "page", metadata="page,bounding_box,title,heading,sourceline")
    assert [(one["text"], one["page"]) for one in found] == [("one one. Two", 0), ("three", 2)]
    assert (found[0]["title"], found[0]["heading"], found[0]["sourceline"]) == ("Sample", None, None)
    box = found[1]["bounding_box"]  # The line is drawn 20 from the left and 200 from the bottom of 300.
    assert 18 < box["x1"] < 23 and 88 < box["y1"] < box["y2"] < 104 and box["x2"] > 40
    assert [one["page"] for one in rows(path, "sentence", metadata="page")] == [0, 0, 2]
    assert [one["text"] for one in rows(path, "page,char_limit", limit=5)] == ["one", "one.", "Two", "three"]
    assert [one["text"] for one in rows(path, "")] == ["one one. Two\n\nthree"]
    pictures = rows(path, "page", elements=["image", "text"], metadata="page", image_dpi=36, image_format="jpeg")
    assert [(one["text"], one["page"]) for one in pictures] == [("one one. Two", 0), ("", 1), ("three", 2)]
    from PIL import Image

    with Image.open(pictures[0]["image"]) as image:
        assert (image.size, image.format, image.getextrema()[0][0] < 200) == ((150, 150), "JPEG", True)
    assert list(rows(path, "page", elements=["image"])[0]) == ["image"]
    large = write("large.pdf", document_files.pdf(["x"]).replace(b"0 0 300 300", b"0 0 999 999"))
    with pytest.raises(ValueError, match="page 1 of the PDF has .* pixels at 1200 dpi"):
        rows(large, "page", elements=["image"], image_dpi=1200)
    assert rows(write("b.md", MARKDOWN), "page", elements=["image", "text"])[0]["image"] is None


def test_pages_of_slides_and_sheets_and_paragraphs_of_pdf(write, monkeypatch):
    slides = media_samples.path("document", "pptx one|two")
    assert [one["text"] for one in rows(slides, "page")] == ["one", "two"]
    assert [one["page"] for one in rows(slides, "page", metadata="page")] == [None, None]
    sheet = rows(media_samples.path("document", "xlsx one|two"), "heading", metadata="heading")
    assert [(one["text"], one["heading"]) for one in sheet] == [("Sheet\n\none\ntwo", {"h1": "Sheet"})]
    from appdb.media.documents import pdf
    from appdb.media.documents.elements import Element

    monkeypatch.setattr(pdf, "elements", lambda path, boxes: iter([Element("a\nb\n \nc", 1), Element("d", 2)]))
    path = write("a.pdf", document_files.pdf(["x"]))
    assert [one["text"] for one in rows(path, "paragraph")] == ["a\nb", "c", "d"]


def test_a_chunk_without_a_limit_is_bounded(write, monkeypatch):
    monkeypatch.setattr(chunks, "MAX_CHUNK", 20)
    path = write("a.txt", "word\n\n" * 10)
    with pytest.raises(ValueError, match="a chunk has more than 20 characters; add 'char_limit'"):
        rows(path, "")
    assert len(rows(path, "paragraph")) == 10


MEMORY = """
import resource, sys
from appdb.functions.document import document_splitter
from appdb.iterators.running import run_iterator
from appdb.iterators.calls import Output

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

path, separators = sys.argv[1:]
before = peak()
named = {"limit": 4000, "overlap": 400} if "limit" in separators else {}
count = length = 0
for row in run_iterator(document_splitter, [path, separators], named, [Output("text", "string")]):
    count += 1
    length += len(row["text"])
print(count, length, peak() - before)
"""


@pytest.mark.parametrize("separators", ["char_limit", "paragraph", "paragraph,char_limit"])
def test_a_text_of_100_mb_takes_little_memory(tmp_path, separators):
    path, line = tmp_path / "large.txt", "All work and no play makes for a long text of many words. " * 40
    with open(path, "w") as file:
        for _ in range(100_000_000 // len(line)):
            file.write(line + "\n\n")
    command = [sys.executable, "-c", MEMORY, str(path), separators]
    env = environment(PYTHONPATH=f"{LIBRARY}:{':'.join(one for one in sys.path if 'site-packages' in one)}")
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    count, length, grown = map(int, done.stdout.split())
    assert count > 20_000 and length > 99_000_000 and grown < 40
