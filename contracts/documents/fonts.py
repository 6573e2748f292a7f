"""Which fonts a text of a document needs beyond our own, and what none of them can draw."""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

from fontTools.ttLib import TTFont
from fpdf.enums import TextDirection
from fpdf.line_break import Fragment

FONTS = Path(__file__).parents[1] / "fonts"
MAIN_FONT = "inter-regular"
# For names and places in other scripts; each is opened only when a text asks for it.
FALLBACK_FONTS = ("han", "hangul", "arabic", "hebrew", "thai", "devanagari")
# Persian and Hindi are spelled with these. Anywhere else they are only hidden.
JOINERS = frozenset("\u200c\u200d")


@cache
def known(font: str) -> frozenset[str]:
    with TTFont(FONTS / f"{font}.ttf", lazy=True) as opened:
        return frozenset(map(chr, opened.getBestCmap()))


def font_of(character: str) -> str | None:
    """None if no font has it, or if it would not be seen."""
    if unicodedata.category(character) == "Cf":
        return None
    return next((font for font in (MAIN_FONT, *FALLBACK_FONTS) if character in known(font)), None)


def list_fallback_fonts(text: str) -> list[str]:
    needed = {font_of(character) for character in text}
    return [font for font in FALLBACK_FONTS if font in needed]


def replace_undrawable(text: str) -> str:
    """What cannot be drawn is named, not left out: a contract has no empty boxes in it."""
    return "".join(_drawn(text))


def _drawn(text: str) -> Iterator[str]:
    before: str | None = None
    for character in text:
        is_joined = character in JOINERS and before not in (None, MAIN_FONT)
        if character == "\n" or is_joined or font_of(character):
            yield character
        else:
            yield f"(U+{ord(character):04X})"
        before = font_of(character)


def reorder_rtl_numbers(fragments: Sequence[Fragment]) -> list[Fragment]:
    """A number between words that run from right to left parts them for fpdf, and the parts would
    then run from left to right: a street after its town. Here such parts change places."""
    runs = [list(run) for _, run in groupby(fragments, key=lambda each: each.fragment_direction)]
    ordered: list[list[Fragment]] = []
    group: list[list[Fragment]] = []
    for run in runs:
        if not (_is_from_the_right(run) or (group and _has_no_letter(run))):
            ordered += [*_turned(group), run]
            group = []
        else:
            group.append(run)
    return [fragment for run in [*ordered, *_turned(group)] for fragment in run]


def _turned(group: list[list[Fragment]]) -> list[list[Fragment]]:
    last = len(group)
    # What follows the last word belongs to the line again.
    while last and not _is_from_the_right(group[last - 1]):
        last -= 1
    return [*reversed(group[:last]), *group[last:]]


def _is_from_the_right(run: list[Fragment]) -> bool:
    return run[0].fragment_direction == TextDirection.RTL


def _has_no_letter(run: list[Fragment]) -> bool:
    return not any(character.isalpha() for each in run for character in each.characters)
