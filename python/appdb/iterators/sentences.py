"""Where sentences end, by rules of our own: enough for prose of most languages, without a model.

A sentence ends
- after `.`, `!`, `?` or `…`, several of them too, and the quotes or brackets that close behind them, where white
  space or the end of the text follows;
- after `。`, `！`, `？` or `｡` and what closes behind it, without white space; not where a closing quote of Japanese has
  hiragana behind it (「行く。」と言った);
- at an empty line.

It does not end
- before a lower-case letter (`"Why?" she asked`, `approx. five`);
- at a point inside of a number or word (`3.14`, `example.org`);
- after a title or an abbreviation of a reference (`Dr. Lee`, `e.g. Bern`, `Fig. 3`, `z.B. Wien`), after `No.` or `Nr.`
  before a number, after a single capital other than I (`J. Doe`), after capitals with points (`U.S. Army`), and after a
  number that begins a line (`2. Wash it`).
"""

import re

# Nothing matches behind another mark, so that long runs of marks take linear time.
_MARK = re.compile(
    r"""(?<![.!?…])[.!?…]++["'”’»›)\]}]*+(?=\s|\Z)|[。！？｡]++[」』”’）】》〉"')\]]*+|\n[^\S\n]*+\n\s*+"""
)
_OPENING = "([{\"'“‘«‹„"
_NEXT = re.compile(r"""\s*+["'“‘«‹„(\[{¿¡]*+""")
_WORD_LENGTH = 40
_NEVER = frozenset(
    "mr mrs ms mx dr prof st sr sra fr mme mlle hr rev hon gen col maj capt cpt lt sgt gov sen rep pres"
    " vs cf viz ca approx al fig figs eq eqs sec ch vol pp art abs bzw vgl sog inkl ggf evtl"
    " e.g i.e z.b d.h u.a o.ä p.ej c.-à-d".split()
)
_BEFORE_NUMBERS = frozenset("no nos nr str p bd kap §".split())
_HIRAGANA = ("\u3041", "\u309f")
_CLOSING = "」』"


def split_sentences(text):
    """Yields the sentences of a text without white space around them."""
    start = 0
    for mark in _MARK.finditer(text):
        if _ends(text, start, mark):
            sentence = text[start : mark.end()].strip()
            if sentence:
                yield sentence
            start = mark.end()
    rest = text[start:].strip()
    if rest:
        yield rest


def _ends(text, start, mark):
    found = mark[0]
    if found[0] == "\n":
        return True
    behind = text[mark.end() : mark.end() + 1]
    if found[0] in "。！？｡":
        return not (found[-1] in _CLOSING and _HIRAGANA[0] <= behind <= _HIRAGANA[1])
    at = _NEXT.match(text, mark.end()).end()
    following = text[at : at + 1]
    if following.islower():
        return False
    return found != "." or not _abbreviates(text, start, mark.start(), following)


def _abbreviates(text, start, at, following):
    """Whether a single point belongs to the word before it."""
    before = text[max(start, at - _WORD_LENGTH) : at]
    if not before or before[-1].isspace():
        return False
    word = before.rsplit(None, 1)[-1].lstrip(_OPENING)
    lower = word.lower()
    if lower in _NEVER or (lower in _BEFORE_NUMBERS and following.isdigit()):
        return bool(following)
    if len(word) == 1 and word.isupper() and word != "I":
        return bool(following)
    if "." in word and word.isupper() and all(len(part) == 1 for part in word.split(".")):
        return bool(following)
    return word.isdecimal() and bool(following) and _begins_line(text, start, at - len(word))


def _begins_line(text, start, at):
    """Whether only white space is between the start of the sentence or line and a place."""
    before = text[max(start, at - _WORD_LENGTH) : at]
    return not before.rpartition("\n")[2].strip() and (at - start <= _WORD_LENGTH or "\n" in before)
