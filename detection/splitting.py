"""Numbers and addresses that are split over several messages."""

import re
from collections.abc import Iterator, Sequence

from detection.lexicon import hidden_names
from detection.normalise import fold
from detection.numbers import find_spelled, without_measures
from detection.reading import DIGIT, Reading, read, read_word
from detection.rules import SQUEEZED, match_rules

MAX_PIECES, MAX_PIECE_CHARS = 4, 240
MAX_HIDDEN_CHARS, MAX_ADDRESS_CHARS, HIDDEN_LINK = 40, 120, 0.3
PARTS_OF_ADDRESSES = ("say_at", "say_dot", "say_slash", "mailprovider", "reversed")
# Three prices also make a short number.
DIGITS_OF_NUMBER, SHORTEST_WITHOUT_ZERO = range(7, 16), 9
LETTERS = re.compile(r"[^\W\d_]+")
NOT_DIGITS = re.compile(r"[^\d+]+")
ENDS_WITH_DIGIT = re.compile(r"\d\W*$")
# A piece of an address: a symbol alone or at its edge.
SIGN = re.compile(
    r"^\W*@|@\W*$|^\.[a-z]{2,}|^[\w-]+@|^[\w-]{2,30}\.(?:com|net|org|de|es|fr|it|pt|nl|pl|co)\b\S*$"
)


def last_pieces(earlier: Sequence[str], text: str) -> list[str]:
    """The newest texts that are short enough to be pieces."""
    texts = [*earlier[1 - MAX_PIECES :], text]
    too_long = [at for at, one in enumerate(texts) if len(one) > MAX_PIECE_CHARS]
    return texts[too_long[-1] + 1 :] if too_long else texts


def joined_numbers(pieces: Sequence[str]) -> Iterator[str]:
    """Readings of the pieces as one number, if they look like one."""
    pieces = [*map(without_measures, pieces)]
    for start in range(len(pieces) - 1):
        if _is_number(pieces[start:]):
            digits = " ".join(NOT_DIGITS.sub(" ", piece).strip() for piece in pieces[start:])
            if digits[0] in "0+" or len(DIGIT.findall(digits)) >= SHORTEST_WITHOUT_ZERO:
                yield f"tel {digits}"


def joined_addresses(pieces: Sequence[str]) -> Iterator[str]:
    for start in range(len(pieces) - 1):
        some = pieces[start:]
        if any(map(SIGN.search, some[1:])) or some[0].endswith("@"):
            yield "".join(some)
            yield "".join(some[:-1]) + " " + some[-1]
        yield " ".join(some)


def _is_number(pieces: Sequence[str]) -> bool:
    """At least one piece is only digits, the first may start and the last may end with words, and
    a last piece without digits is ignored."""
    if len(pieces) > 2 and not DIGIT.search(pieces[-1]):
        pieces = pieces[:-1]
    bare = [_is_bare(piece) for piece in pieces]
    starts = bare[0] or ENDS_WITH_DIGIT.search(pieces[0])
    head, *rest = DIGIT.split(pieces[-1], maxsplit=1)
    ends = bool(rest) and _is_bare(f"{head}0")
    digits = sum(len(DIGIT.findall(piece)) for piece in pieces)
    return bool(any(bare) and all(bare[1:-1]) and starts and ends and digits in DIGITS_OF_NUMBER)


def _is_bare(piece: str) -> bool:
    words = LETTERS.findall(piece)
    return DIGIT.search(piece) is not None and all(
        "between" in read_word(word).meanings for word in words
    )


def find_split(texts: Sequence[str]) -> dict[str, float]:
    """The scores of evidence that only several texts together have."""
    pieces = [fold(one).strip() for one in texts]
    readings = [*map(read, pieces)]
    found = {"phone": 0.0, "email": 0.0, "handle": 0.0, "link": 0.0}
    if len(texts) < 2 or any(one.has("record") for one in readings):
        return {}
    if DIGIT.search(pieces[-1]):
        numbers = [match_rules(read(one)) for one in joined_numbers(pieces)]
        found["phone"] = max((one.get("phone", 0.0) for one in numbers), default=0.0)
    if any(word.is_number for word in readings[-1].words):
        spelled = find_spelled([word for one in readings for word in one.words])
        found["phone"] = max(found["phone"], 1.0 * any(8 <= len(one) <= 16 for one in spelled))
    short = "".join(pieces[-3:])
    if len(short) <= MAX_HIDDEN_CHARS and hidden_names(short.translate(SQUEEZED)):
        found["handle"] = 1.0
    for whole in joined_addresses(pieces) if any(map(_may_be_address, readings)) else ():
        scores = match_rules(read(whole)) if len(whole) <= MAX_ADDRESS_CHARS else {}
        found["email"] = max(found["email"], scores.get("email", 0.0))
        # A link that is split is meant to be hidden.
        found["link"] = max(found["link"], scores.get("link", -HIDDEN_LINK) + HIDDEN_LINK)
    return {reason: score for reason, score in found.items() if score}


def _may_be_address(reading: Reading) -> bool:
    has_sign = not reading.gates.isdisjoint(("sign", "dotted", "bracket"))
    return has_sign or reading.has(*PARTS_OF_ADDRESSES)
