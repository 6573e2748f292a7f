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
READ = [*product(TEXT, GROUNDS + SOFT), *ON_FULL, *TONES]
NOT_BEHIND_TEXT = {"bone", "shade", "lightbox-shade"}
SEEN = [*product(("line-strong", "accent", "danger"), GROUNDS)]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("ink", "ground"), READ)
def test_text_can_be_read_on_every_ground_that_it_may_stand_on(theme, ink, ground):
    colours = tokens(theme)
    assert contrast(colours[ink], colours[ground]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(("line", "ground"), SEEN)
def test_edges_of_fields_and_rings_of_focus_can_be_seen(theme, line, ground):
    colours = tokens(theme)
    assert contrast(colours[line], colours[ground]) >= 3


def test_every_colour_of_text_and_ground_in_the_stylesheets_is_among_those_checked():
    checked = {name for pair in READ for name in pair}
    for sheet in SITE.glob("*.css"):
        if sheet.name == "styleguide.css":  # Its swatches show the colours of lines, too.
            continue
        used = re.findall(r"[\s{;](?:color|background): var\(--([\w-]+)\)", sheet.read_text())
        assert set(used) - NOT_BEHIND_TEXT <= checked, sheet.name


def test_no_stylesheet_but_the_tokens_names_a_colour_itself():
    for sheet in SITE.glob("*.css"):
        if sheet.name != "tokens.css":
            assert not re.search(r"#[0-9a-f]{3,8}\b|rgba?\(|hsl", sheet.read_text()), sheet.name


def test_contrast_is_measured_as_the_guidelines_do():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
