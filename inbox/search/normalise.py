"""Text as search compares it: without case, accents and width; and where that was before."""

import unicodedata
from dataclasses import dataclass

AROUND = 60


@dataclass(frozen=True)
class Piece:
    text: str
    is_match: bool = False


def normalise(text: str) -> str:
    if text.isascii():
        return text.lower()
    return "".join(_normalise_letter(letter) for letter in text)


def _normalise_letter(letter: str) -> str:
    # By letter, so that each folded one has a place in the original.
    apart = unicodedata.normalize("NFKD", letter)
    kept = "".join(part for part in apart if not unicodedata.combining(part))
    # Korean comes apart into its sounds; together again it can be found by syllables.
    return unicodedata.normalize("NFC", kept).casefold()


def excerpt(text: str, words: list[str]) -> list[Piece]:
    """A line of the text around the first match, in pieces, with the matches marked."""
    marks = _marks(text, words)
    first = marks.index(True) if True in marks else 0
    begin, end = _cut(text, first)
    pieces = [Piece("… ")] if begin else []
    at = begin
    while at < end:
        until = at
        while until < end and marks[until] == marks[at]:
            until += 1
        pieces.append(Piece(text[at:until], marks[at]))
        at = until
    return pieces + ([Piece(" …")] if end < len(text) else [])


def _cut(text: str, first: int) -> tuple[int, int]:
    """Between words, if there are any: some scripts put no space between them."""
    begin, end = max(0, first - AROUND), min(len(text), first + 2 * AROUND)
    if begin:
        begin = max(begin, text.find(" ", begin - 1, first) + 1)
    if end < len(text):
        last = text.rfind(" ", first + AROUND, end + 1)
        end = last if last > 0 else end
    return begin, end


def _marks(text: str, words: list[str]) -> list[bool]:
    folded, origin = "", []
    for place, letter in enumerate(text):
        part = _normalise_letter(letter)
        folded += part
        origin += [place] * len(part)
    marks = [False] * len(text)
    for word in words:
        start = folded.find(word)
        while word and start >= 0:
            for place in origin[start : start + len(word)]:
                marks[place] = True
            start = folded.find(word, start + len(word))
    return marks


def count_whole(text: str, words: list[str]) -> int:
    """How many of the words stand there by themselves, and not only inside others."""
    folded = f" {normalise(text)} "
    return sum(_is_whole(folded, word) for word in words)


def _is_whole(folded: str, word: str) -> bool:
    start = folded.find(word)
    while start >= 0:
        # A quoted word may begin or end with the blank at an edge, beyond which there is nothing.
        before, after = folded[start - 1 : start], folded[start + len(word) :][:1]
        if not before.isalnum() and not after.isalnum():
            return True
        start = folded.find(word, start + 1)
    return False
