"""Digits that are written as digits, and which of them somebody could dial."""

import re
from dataclasses import dataclass

from moderation.detection.folding import redigit


@dataclass
class Run:
    """Digits that belong together."""

    digits: str
    start: int
    end: int
    raw: str
    # Said in words, at least in part; or every digit by itself.
    spelled: bool = False
    apart: bool = False


# Between digits: almost anything but a letter, and what stands between separate numbers.
RAW_RUN = re.compile(r"\+?\(?\d(?:[^\w\n,;:%$£\x00]{0,3}_?\d){5,40}")
ONE_BY_ONE = re.compile(r"(?<!\d)\d(?:[\s,;:xo*_-]{1,3}\d(?!\d)){6,20}")
DATES = re.compile(
    r"(?<!\d)(?:(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}|\d{1,2}[-./]\d{1,2}[-./](?:(?:19|20)\d\d|\d\d(?!\d)))(?![-./]?\d)"
)
PRICES = re.compile(
    r"(?<![\d.])\d{1,3}(?:[.,' ]\d{3})*[.,]\d\d(?![\d]|\.\d)|\d+ ?(?:eur|usd|gbp|chf|zl|tl|kr)\b|[$£]\s?\d[\d.,]*"
)
SIZES = re.compile(
    r"\d+(?:[.,]\d+)?\s?[x×]\s?\d+|(?<![\d])\d{1,2}[:h]\d\d(?::\d\d)*(?:\.\d+)?|(?<!\d)(?:1920|1080|3840|2160|1280|2048|4096|2560|1440)(?!\d)|\d+\s?(?:mm|cm|px|dpi|fps|kb|mb|gb|iso|kg|km|min|gsm|k)\b"
)
IDS = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<!\w)(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{20,64}(?!\w)"
)
# 250 / 500 / 1000
LISTED = re.compile(r"(?<!\d)\d+0(?:\s/\s\d+0)+(?!\d)|(?<![\d.])\d{1,3}\.\d{5,}(?![\d.])")
LINKED = re.compile(r"https?://\S+|(?<!\S)(?:[\w-]+\.)+(?:com|org|net|be|tl|io|de|fr|es|it)/\S+")
DIGIT = re.compile(r"\d")


def without_measures(text: str) -> str:
    """Dates, prices, times and sizes blotted out; what is left stays where it was."""
    for pattern in (LINKED, IDS, DATES, PRICES, SIZES, LISTED):
        text = pattern.sub(lambda found: "\x00" * len(found[0]), text)
    return text


# Groups of digits with letters for some: 655 5SS 3OB.
_GROUP = r"(?:[os]{3,4}|(?=[oilsbz]*\d)[0-9oilsbz]{2,})"
GROUPS = re.compile(rf"(?<!\w){_GROUP}(?:[ .-]{_GROUP})+(?!\w)")


def _digits_again(found: re.Match[str]) -> str:
    shown = len(DIGIT.findall(found[0]))
    letters = sum(character.isalpha() for character in found[0])
    return redigit(found[0]) if letters and shown >= 4 and shown + letters >= 8 else found[0]


def find_raw(text: str) -> list[Run]:
    """Written in digits. Dates, prices and sizes are taken out first."""
    text = GROUPS.sub(_digits_again, text)
    if len(DIGIT.findall(text)) < 7:
        return []
    text = without_measures(text)
    found = [
        Run(re.sub(r"\D", "", match[0]), match.start(), match.end(), match[0], apart=True)
        for match in ONE_BY_ONE.finditer(text)
    ]
    for match in RAW_RUN.finditer(text):
        raw = match[0]
        digits = re.sub(r"\D", "", raw)
        groups = re.findall(r"\d+", raw)
        apart = len(groups) >= 6 and sum(len(group) == 1 for group in groups) >= 0.7 * len(groups)
        found.append(Run(digits, match.start(), match.end(), raw, apart=apart))
    return found
