"""Fallback fonts for documents, and replacement of characters that no font can draw."""

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
# For names and places in other scripts; loaded only if a text needs them.
FALLBACK_FONTS = ("han", "hangul", "arabic", "hebrew", "thai", "devanagari")
# Persian and Hindi spelling uses these; elsewhere they are invisible.
JOINERS = frozenset("\u200c\u200d")


@cache
def font_characters(font: str) -> frozenset[str]:
    with TTFont(FONTS / f"{font}.ttf", lazy=True) as opened:
        return frozenset(map(chr, opened.getBestCmap()))


def find_font(character: str) -> str | None:
    """The font that has a character; None if no font has it or it is invisible."""
    if unicodedata.category(character) == "Cf":
        return None
    return next(
        (font for font in (MAIN_FONT, *FALLBACK_FONTS) if character in font_characters(font)), None
    )


def list_fallback_fonts(text: str) -> list[str]:
    needed = {find_font(character) for character in text}
    return [font for font in FALLBACK_FONTS if font in needed]


def replace_undrawable(text: str) -> str:
    """Replaces characters that cannot be drawn by their code points, so that none are lost."""
    return "".join(_drawn(text))


def _drawn(text: str) -> Iterator[str]:
    before: str | None = None
    for character in text:
        is_joined = character in JOINERS and before not in (None, MAIN_FONT)
        if character == "\n" or is_joined or find_font(character):
            yield character
        else:
            yield f"(U+{ord(character):04X})"
        before = find_font(character)


def reorder_rtl_numbers(fragments: Sequence[Fragment]) -> list[Fragment]:
    """Corrects the order of right-to-left text around numbers. fpdf splits it at the number and
    would place the parts from left to right."""
    runs = [list(run) for _, run in groupby(fragments, key=lambda each: each.fragment_direction)]
    ordered: list[list[Fragment]] = []
    group: list[list[Fragment]] = []
    for run in runs:
        if not (_is_rtl(run) or (group and _has_no_letter(run))):
            ordered += [*_reversed_rtl(group), run]
            group = []
        else:
            group.append(run)
    return [fragment for run in [*ordered, *_reversed_rtl(group)] for fragment in run]


def _reversed_rtl(group: list[list[Fragment]]) -> list[list[Fragment]]:
    last = len(group)
    # Text after the last right-to-left word keeps its place.
    while last and not _is_rtl(group[last - 1]):
        last -= 1
    return [*reversed(group[:last]), *group[last:]]


def _is_rtl(run: list[Fragment]) -> bool:
    return run[0].fragment_direction == TextDirection.RTL


def _has_no_letter(run: list[Fragment]) -> bool:
    return not any(character.isalpha() for each in run for character in each.characters)
