import re
from itertools import product

import pytest

from tests.design.colours import SITE, contrast, tokens

THEMES = ("light", "dark")
TEXT = ("ink", "ink-soft", "accent", "waiting", "danger", "ok")
GROUNDS = ("surface", "surface-raised", "surface-sunken")
SOFT = ("accent-soft", "waiting-soft", "danger-soft", "ok-soft")
ON_FULL = [
    *(("accent-ink", "accent"), ("accent-ink", "accent-hover"), ("danger-ink", "danger")),
    ("surface", "ink"),
    *(("lightbox-ink", "lightbox"), ("lightbox-ink", "lightbox-hover")),
    ("lightbox-ink-soft", "lightbox"),
]
TONES = [(f"tone-{tone}-ink", f"tone-{tone}") for tone in range(12)]
TEXT_PAIRS = [*product(TEXT, GROUNDS + SOFT), *ON_FULL, *TONES]
NOT_BEHIND_TEXT = {"bone", "shade", "lightbox-shade"}
EDGE_PAIRS = [*product(("line-strong", "accent", "danger"), GROUNDS)]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("ink", "ground"), TEXT_PAIRS)
def test_text_has_enough_contrast_on_every_background(theme, ink, ground):
    colours = tokens(theme)
    assert contrast(colours[ink], colours[ground]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("line", "ground"), EDGE_PAIRS)
def test_field_borders_and_focus_rings_have_enough_contrast(theme, line, ground):
    colours = tokens(theme)
    assert contrast(colours[line], colours[ground]) >= 3


def test_every_text_and_background_colour_of_the_stylesheets_is_checked():
    checked = {name for pair in TEXT_PAIRS for name in pair}
    for sheet in SITE.glob("*.css"):
        if sheet.name == "styleguide.css":  # Its swatches also show line colours.
            continue
        used = re.findall(r"[\s{;](?:color|background): var\(--([\w-]+)\)", sheet.read_text())
        assert set(used) - NOT_BEHIND_TEXT <= checked, sheet.name


def test_only_the_tokens_define_colours():
    for sheet in SITE.glob("*.css"):
        if sheet.name != "tokens.css":
            assert not re.search(r"#[0-9a-f]{3,8}\b|rgba?\(|hsl", sheet.read_text()), sheet.name


def test_contrast_follows_the_guidelines():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
