"""What somebody writes in pieces, one message each, read as one."""

import re
from collections.abc import Iterator, Sequence

from detection.normalise import fold
from detection.numbers import LINKS, without_measures
from detection.words import sentences

PIECES = 4
SHORTEST = 9
FEWEST_DIGITS = 7
MAX_PIECE_CHARS = 60
LETTERS = re.compile(r"[^\W\d_]+")
DIGITS = re.compile(r"\d")
AT_THE_START = re.compile(
    r"\A\W*+(?:(?:and|then|und|dann|y|luego|et|puis|e|depois|poi|en|dan|i|potem)\W++)*+\d"
)
AT_THE_END = re.compile(r"\d\W*$")
# A piece of an address: a sign by itself, or one at its edge.
SIGN = re.compile(
    r"^\W*@|@\W*$|^\.[a-z]{2,}|^[\w-]+@|^[\w-]{2,30}\.(?:com|net|org|de|es|fr|it|pt|nl|pl|co)\b\S*$"
)


def numbers(pieces: Sequence[str]) -> Iterator[str]:
    """Readings of the pieces as one number; none, if they do not look like such."""
    if sum(len(DIGITS.findall(piece)) for piece in pieces) < FEWEST_DIGITS:
        return
    pieces = [without_measures(piece) for piece in pieces]
    for start in range(len(pieces) - 1):
        if _is_number(pieces[start:]):
            digits = " ".join(re.sub(r"[^\d+]+", " ", piece).strip() for piece in pieces[start:])
            # Three prices make a short one, too.
            if digits.startswith(("0", "+")) or len(DIGITS.findall(digits)) >= SHORTEST:
                yield f"tel {digits}"


def addresses(pieces: Sequence[str]) -> Iterator[str]:
    stripped = [piece.strip() for piece in pieces]
    signs = [_has_sign(piece) for piece in stripped]
    for start in range(len(pieces) - 1):
        some = stripped[start:]
        if any(signs[start + 1 :]) or some[0].endswith("@"):
            yield "".join(some)
            yield "".join(some[:-1]) + " " + some[-1]
        yield " ".join(some)


def _has_sign(piece: str) -> bool:
    if "@" in piece:
        return bool(SIGN.search(piece))
    # Any other sign is one at the start.
    return "." in piece and bool(SIGN.match(piece))


def pieces_of(earlier: Sequence[str], text: str) -> list[str]:
    """The newest ones that are short enough to be pieces."""
    parts: list[str] = []
    for one in reversed([*earlier[-(PIECES - 1) :], text]):
        if len(one) > 4 * MAX_PIECE_CHARS:
            break
        parts.append(fold(one))
    return parts[::-1]


def _is_number(pieces: Sequence[str]) -> bool:
    """One at least is nothing but digits; what comes before ends in some, what follows begins so,
    and only a last word may have none."""
    if len(pieces) > 2 and not DIGITS.search(pieces[-1]):
        pieces = pieces[:-1]
    bare = [_is_bare(piece) for piece in pieces]
    if not any(bare) or not all(bare[1:-1]) or _is_record(pieces):
        return False
    if not bare[0] and AT_THE_END.search(pieces[0]) is None:
        return False
    if not bare[-1] and AT_THE_START.match(pieces[-1]) is None:
        return False
    return FEWEST_DIGITS <= sum(len(DIGITS.findall(piece)) for piece in pieces) <= 15


def _is_bare(piece: str) -> bool:
    words = LETTERS.findall(piece)
    return bool(DIGITS.search(piece)) and all(word in LINKS for word in words)


def _is_record(pieces: Sequence[str]) -> bool:
    return any(sentence.has("record") for piece in pieces for sentence in sentences(piece))
