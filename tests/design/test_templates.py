import re
from pathlib import Path

import allauth
import pytest
from django.template.loader import get_template
from django.template.loader_tags import ExtendsNode

from messaging_site.templatetags.site import icon, zone_city

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "templates"
STATIC = ROOT / "static"
PAGES = sorted(str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.html"))
ALLAUTH = Path(allauth.__file__).parent / "templates"
ALLAUTH_PAGES = sorted(str(path.relative_to(ALLAUTH)) for path in ALLAUTH.glob("account/*.html"))


def read(name: str) -> str:
    return (TEMPLATES / name).read_text()


@pytest.mark.parametrize("name", PAGES)
def test_no_template_contains_a_script_or_style_that_the_policy_forbids(name):
    text = read(name)
    assert not re.search(r"\sstyle=|<style|\son\w+=|javascript:", text)
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)


@pytest.mark.parametrize("name", PAGES)
def test_every_template_compiles(name):
    assert get_template(name)


@pytest.mark.parametrize("name", ALLAUTH_PAGES)
def test_every_page_of_allauth_extends_our_base_template(name):
    template = get_template(name).template
    parents = []
    while template.nodelist.get_nodes_by_type(ExtendsNode):
        parents.append(template.nodelist.get_nodes_by_type(ExtendsNode)[0].parent_name.var)
        template = get_template(parents[-1]).template
    assert parents[-1] == "base.html"


def test_the_sprite_contains_exactly_the_icons_in_use():
    text = "".join(read(name) for name in PAGES)
    used = re.findall(r'{% icon "([\w-]+)"', text) + re.findall(r'icon_name="([\w-]+)"', text)
    assert set(re.findall(r'<symbol id="i-([\w-]+)"', text)) == set(used)


@pytest.mark.parametrize("page", ["500.html", "503.html"])
def test_the_server_error_page_needs_no_context(page):
    text = read(page)
    assert "{%" not in text
    assert "{{" not in text
    for file in re.findall(r'"/static/([^"]+)"', text):
        assert (STATIC / file).exists(), file


def test_a_message_fragment_does_not_depend_on_the_viewer():
    assert not re.search(r"request|user\b|\bme\b|perms|csrf", read("threads/message.html"))


def test_an_icon_is_hidden_from_screen_readers():
    assert 'aria-hidden="true"' in icon("pin")
    assert "#i-pin" in icon("pin")


def test_a_clock_is_labelled_with_its_city():
    assert zone_city("Europe/Lisbon") == "Lisbon"
    assert zone_city("America/Argentina/Buenos_Aires") == "Buenos Aires"
    assert zone_city("UTC") == "UTC"
