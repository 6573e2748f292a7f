"""The colour tokens of each theme, and the contrast ratio of two colours (WCAG 2.2)."""

import re
from pathlib import Path

SITE = Path(__file__).parents[2] / "static" / "site"
PAIR = re.compile(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")


def tokens(theme: str) -> dict[str, str]:
    found = PAIR.findall((SITE / "tokens.css").read_text())
    return {name: light if theme == "light" else dark for name, light, dark in found}


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
