"""Numbers that are read out in words."""

import re

from moderation.detection.folding import redigit, unleet
from moderation.detection.lexicon import digits as digit_words
from moderation.detection.lexicon import turns
from moderation.detection.numbers import Run

WORDS = digit_words()
# nulleinssieben: several in one word.
_PARTS = "|".join(sorted((w for w in WORDS if w.isascii() and len(w) > 2), key=len, reverse=True))
RUN_ON = re.compile(f"(?:{_PARTS})+")
PART = re.compile(_PARTS)
KANJI = re.compile("[〇零一二三四五六七八九幺]")
# Digits read out in scripts that leave no spaces: enough of them in a row.
_READ = "[공영일이삼사오육륙칠팔구]|きゅう|きゅー|キュー|キュウ|ゼロ|ぜろ|れい|レイ|まる|いち|イチ|ニー|にい|さん|サン|よん|ヨン|ゴー|ろく|ロク|なな|ナナ|しち|はち|ハチ|ご|ゴ|に|ニ"
READ_OUT = re.compile(rf"(?:(?:{_READ})[ の\-・]{{0,2}}){{7,20}}")
READ_PART = re.compile(_READ)
HUNDRED = frozenset(turns("hundred"))
TIMES = {
    **dict.fromkeys(
        ["double", "doppel", "doppelt", "doble", "dupla", "doppio", "dubbel", "zweimal"], 2
    ),
    **dict.fromkeys(["triple", "treble", "dreimal", "triplo"], 3),
}
# Between the parts of a number that is read out.
LINKS = frozenset(turns("between_digits"))
TOKEN = re.compile(r"\d+|[^\W\d_]+(?:['’][^\W\d_]+)?|[^\W_]|[^\w\s]|_|\s+")
WORD = re.compile(r"[^\W\d_]+")
MIXED = re.compile(r"(?<!\w)(?=[a-z0-9]*[a-z])(?=[a-z0-9]*\d)[a-z0-9]{3,12}(?!\w)")
LEETED = re.compile(r"(?<!\w)[0-9oilsbz]*[0-9][0-9oilsbz]*(?!\w)")


def find_spelled(text: str) -> list[Run]:
    """Read out, in part or all: at least three words for digits among them."""
    text = MIXED.sub(_plainly, text)
    text = LONG_WORD.sub(_apart, text)
    text = READ_OUT.sub(lambda found: f" {' '.join(READ_PART.findall(found[0]))} ", text)
    if KANJI.search(text):
        text = KANJI.sub(lambda found: f" {found[0]} ", text)
    if sum(word in WORDS for word in WORD.findall(text)) < 2:
        return []
    found: list[Run] = []
    digits, spelled, start, end, times = "", 0, 0, 0, 1
    for token in TOKEN.finditer(text):
        word = token[0]
        value = word if word.isdecimal() else WORDS.get(word)
        if word in HUNDRED and digits:
            digits += "00"
            spelled, end = spelled + 1, token.end()
        elif word in TIMES:
            times = TIMES[word]
        elif value is not None and not (value == word and len(word) > 8):
            if not digits:
                start = token.start()
            digits = _joined(digits, value, text[end : token.start()]) if digits else value * times
            if times > 1 and digits != value * times:
                digits += value * (times - 1)
            spelled, end, times = spelled + (value != word), token.end(), 1
        elif word.isspace() or word in LINKS or (not word.isalnum() and word not in "!?;:\n"):
            continue
        else:
            _keep(found, text, digits, spelled, start, end)
            digits, spelled, times = "", 0, 1
    _keep(found, text, digits, spelled, start, end)
    return found


LONG_WORD = re.compile(r"(?<![^\W_])[a-z]{8,120}(?![^\W_])")


def _apart(word: re.Match[str]) -> str:
    if word[0] in WORDS or not RUN_ON.fullmatch(word[0]):
        return word[0]
    return " ".join(PART.findall(word[0]))


def _joined(digits: str, value: str, between: str) -> str:
    """Sixty-four is 64; quatre-vingt-dix-huit is 98; six four is 64 as well."""
    linked = between.strip() in ("-", "y", "e", "und", "et", "")
    tens = digits[-2:] if len(digits) > 1 and digits[-1] == "0" and digits[-2] != "0" else ""
    if linked and digits[-1:] == "4" and value == "20" and between.strip() == "-":
        return digits[:-1] + "80"
    if (
        linked
        and tens
        and between.strip() in ("-", "y", "e")
        and len(value) <= 2
        and int(value) < 20
    ):
        return digits[:-2] + str(int(tens) + int(value))
    return digits + value


def _plainly(word: re.Match[str]) -> str:
    """s3ven is a word, O1l2 is digits."""
    read = unleet(word[0])
    if read in WORDS:
        return read
    return redigit(word[0]) if LEETED.fullmatch(word[0]) else word[0]


def _keep(found: list[Run], text: str, digits: str, spelled: int, start: int, end: int) -> None:
    if spelled >= 3 and len(digits) >= 6 or spelled >= 2 and digits[0] == "0" and len(digits) >= 9:
        found.append(Run(digits, start, end, text[start:end], spelled=True))
