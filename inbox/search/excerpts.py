"""Excerpts of a text around its matches, and whole words in it, by normalised comparison."""

from dataclasses import dataclass

from core.normalise import normalise, normalise_letter

CONTEXT_CHARS = 60


@dataclass(frozen=True)
class Piece:
    text: str
    is_match: bool = False


def excerpt(text: str, words: list[str]) -> list[Piece]:
    """The text around the first match, in pieces, with the matches marked."""
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
    """Cuts between words where the script has spaces."""
    begin, end = max(0, first - CONTEXT_CHARS), min(len(text), first + 2 * CONTEXT_CHARS)
    if begin:
        begin = max(begin, text.find(" ", begin - 1, first) + 1)
    if end < len(text):
        last = text.rfind(" ", first + CONTEXT_CHARS, end + 1)
        end = last if last > 0 else end
    return begin, end


def _marks(text: str, words: list[str]) -> list[bool]:
    normalised, origin = "", []
    for position, letter in enumerate(text):
        part = normalise_letter(letter)
        normalised += part
        origin += [position] * len(part)
    marks = [False] * len(text)
    for word in words:
        start = normalised.find(word)
        while word and start >= 0:
            for position in origin[start : start + len(word)]:
                marks[position] = True
            start = normalised.find(word, start + len(word))
    return marks


def count_whole(text: str, words: list[str]) -> int:
    """The number of query words that occur as whole words."""
    normalised = f" {normalise(text)} "
    return sum(_is_whole(normalised, word) for word in words)


def _is_whole(normalised: str, word: str) -> bool:
    start = normalised.find(word)
    while start >= 0:
        # A quoted phrase may begin or end with a space at the edge of the text.
        before, after = normalised[start - 1 : start], normalised[start + len(word) :][:1]
        if not before.isalnum() and not after.isalnum():
            return True
        start = normalised.find(word, start + 1)
    return False
