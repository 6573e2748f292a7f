"""Finds digits in any notation, and those that form a telephone number."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from detection.lexicon import lexicon
from detection.normalise import unleet
from detection.reading import DIGIT, Reading, Word, read

NOT_DIGIT = re.compile(r"\D+")
# Separators within a number: almost anything but letters and separators of lists.
RUN = re.compile(
    r"(?<!\d)\d(?:[\s,;:xo*_-]{1,3}\d(?!\d)){6,20}|"
    r"\+?\(?\d(?:[^\w\n,;:%$£\x00]{0,3}_?\d){5,40}"
)
# Identifiers, dates, prices, sizes and times, screens, lists and coordinates.
MEASURES = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<!\w)(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{20,64}(?!\w)|"
    r"(?<!\d)(?:(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}|"
    r"(?:[0-2]?\d|3[01])[-./](?:[0-2]?\d|3[01])[-./](?:(?:19|20)\d\d|\d\d(?![-.]\d\d)))(?!\d)|"
    r"(?<!\d)\d{1,3}(?:[.,' ]\d{3})*[.,]\d\d(?!\d)|(?<!\d)\d++ ?(?:eur|usd|gbp|chf|zl|tl|kr)\b|[$£]\s?\d[\d.,]*+|"
    r"(?<!\d)\d++(?:[.,]\d++)?\s?[x×]\s?\d++|(?<!\d)\d{1,2}[:h]\d\d(?::\d\d)*(?:\.\d+)?|"
    r"(?<!\d)(?:1920|1080|3840|2160|1280|2048|4096|2560|1440)(?!\d)|"
    r"(?<!\d)\d++\s?(?:mm|cm|px|dpi|fps|kb|mb|gb|iso|kg|km|min|gsm|k)\b|"
    r"(?<!\d)\d{2,}(?:\s/\s\d{2,})+(?!\d)|(?<![\d.])\d{1,3}\.\d{5,}(?![\d.])"
)
# Letters and signs that stand for digits: O1l2, 〇九.
ALMOST_DIGITS = re.compile(r"(?<!\w)(?=[oilsbzeg]*+[0-9])[0-9oilsbzeg]{1,5}(?!\w)")
MIXED = re.compile(r"[a-z]\d|\d[a-z]")
REDIGIT = str.maketrans("oilsbzeg", "01158239")
KANJI = str.maketrans("〇零一二三四五六七八九", "00123456789")
# Not after an abbreviation such as no.
SENTENCE_END = re.compile(r"(?<=[^\W_]{4}[.!?])\s|(?<=\d[.!?])\s|^[.!?]\s|\n")
SPELLED_PART = re.compile(r"\d+|[^\W\d_]+")
# The score of a number by its count of digits; other counts up to 13 have 1.
BY_COUNT = {7: 0.4, 8: 0.6, 9: 0.85, 14: 0.6, 15: 0.5}
# Words such as "double", which repeat the next digit.
TIMES = {"x2": 2, "x3": 3}
MAX_RUNS, MAX_DIGITS, BEFORE, AFTER = 12, 64, 60, 25
REGIONS = ("US", "GB", "DE", "ES", "FR", "PT", "BR", "IT", "NL", "PL", "TR", "JP", "SA", "CN", "KR")


class Run(NamedTuple):
    digits: str
    raw: str
    start: int


@lru_cache(maxsize=2048)
def without_measures(text: str) -> str:
    """Blanks out dates, prices, times and sizes; the positions of the rest are unchanged."""
    return MEASURES.sub(lambda found: "\x00" * len(found[0]), text)


@lru_cache(maxsize=64)
def find_runs(text: str) -> tuple[Run, ...]:
    """Numbers in digits, without dates, prices and sizes."""
    text = text if text.isascii() else text.translate(KANJI)
    if MIXED.search(text):
        text = ALMOST_DIGITS.sub(lambda found: found[0].translate(REDIGIT), text)
    if not RUN.search(text):
        return ()
    found = [*RUN.finditer(without_measures(text))][:MAX_RUNS]
    return tuple(Run(NOT_DIGIT.sub("", one[0]), one[0], one.start()) for one in found)


def find_spelled(words: Iterable[Word]) -> list[str]:
    """The digits of numbers that are spelled with at least three words."""
    found, digits, spelled, times = [], "", 0, 1
    for word in [*words, Word(("",), (), 0, False)]:
        for part in _spelled_parts(word.parts):
            value = part if part.isdecimal() else lexicon().numbers.get(part)
            if value in TIMES:
                times = TIMES[value]
            elif value is not None and len(value) <= 8 and len(digits) < MAX_DIGITS:
                digits, spelled = digits + times * value, spelled + (value != part)
                times = 1
            elif "between" not in word.meanings:
                if spelled >= 3 or spelled == 2 and len(digits) > 8:
                    found.append(digits)
                digits, spelled = "", 0
    return found


@lru_cache(maxsize=8192)
def _spelled_parts(parts: tuple[str, ...]) -> list[str]:
    """Separates the words for digits in nulleins and null1sieben, and reads s3ven."""
    numbers, found = lexicon().numbers, []
    for part in parts:
        read_as = unleet(part)
        if part in numbers or read_as in numbers:
            found.append(part if part in numbers else read_as)
        elif DIGIT.search(part):
            found += SPELLED_PART.findall(part)
        else:
            found += _run_on(part)
    return found


def _run_on(word: str) -> list[str]:
    """The words for digits of which a long word consists, or the word."""
    numbers, found, rest = lexicon().numbers, [], word[:120]
    while len(word) > 7 and rest:
        size = next((n for n in range(min(16, len(rest)), 2, -1) if rest[:n] in numbers), 0)
        if not size:
            return [word]
        found.append(rest[:size])
        rest = rest[size:]
    return found or [word]


def score_run(run: Run, reading: Reading) -> float:
    """How likely a number is a telephone number, by its form and the words around it."""
    count, text = len(run.digits), reading.folded
    if count < 7 or count > 15:
        return 0.0
    score = BY_COUNT.get(count, 1.0) + 0.4 * reading.has("reversed", "messenger")
    score += 0.4 * reading.has("number", "contact") + 0.4 * ("rings" in reading.gates)
    if run.raw[0] in "+(0":
        score += 0.25
    elif text[max(0, run.start - 1) : run.start].isalnum() or text[run.start - 1] in "_#":
        # Part of a file name, such as a camera's counter.
        score -= 0.8
    if is_record(run, text):
        return score - 0.9
    return score + 0.2 * (0.6 <= score < 1.0 and is_dialable(run.raw))


def is_record(run: Run, text: str) -> bool:
    """Whether the number belongs to something else: a shipment, a receipt, a prop in a scene."""
    end = run.start + len(run.raw)
    # Only whole words of the same sentence: a part of a word may be another one.
    start = text.find(" ", run.start - BEFORE, run.start) + 1 if run.start > BEFORE else 0
    before = SENTENCE_END.split(text[start : run.start])[-1]
    after = SENTENCE_END.split(text[end : end + AFTER])[0]
    if end + AFTER < len(text):
        after = after.rpartition(" ")[0] or after
    around = read(before + run.raw + after)
    is_numbered = around.follows("before_record", "#digits", 1)
    return run.raw[:3] in ("201", "202") or is_numbered or around.has("record", "scene")


def is_dialable(raw: str) -> bool:
    # Imported late: commands do not need it, and a server loads it when it starts.
    import phonenumbers

    for region in (None,) if raw.startswith("+") else REGIONS:
        try:
            if phonenumbers.is_valid_number(phonenumbers.parse(raw, region)):
                return True
        except phonenumbers.NumberParseException:
            continue
    return False
