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
def test_no_template_holds_a_script_or_a_style_that_the_policy_forbids(name):
    text = read(name)
    assert not re.search(r"\sstyle=|<style|\son\w+=|javascript:", text)
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)


@pytest.mark.parametrize("name", PAGES)
def test_every_template_compiles(name):
    assert get_template(name)


@pytest.mark.parametrize("name", ALLAUTH_PAGES)
def test_every_page_of_allauth_stands_on_our_base(name):
    template = get_template(name).template
    parents = []
    while template.nodelist.get_nodes_by_type(ExtendsNode):
        parents.append(template.nodelist.get_nodes_by_type(ExtendsNode)[0].parent_name.var)
        template = get_template(parents[-1]).template
    assert parents[-1] == "base.html"


def test_the_sprite_holds_the_drawings_in_use_and_no_others():
    text = "".join(read(name) for name in PAGES)
    used = re.findall(r'{% icon "([\w-]+)"', text) + re.findall(r'icon_name="([\w-]+)"', text)
    assert set(re.findall(r'<symbol id="i-([\w-]+)"', text)) == set(used)


@pytest.mark.parametrize("page", ["500.html", "503.html"])
def test_the_page_for_a_broken_server_needs_nothing_to_render(page):
    text = read(page)
    assert "{%" not in text
    assert "{{" not in text
    for file in re.findall(r'"/static/([^"]+)"', text):
        assert (STATIC / file).exists(), file


def test_a_message_that_is_pushed_says_nothing_of_who_reads_it():
    assert not re.search(r"request|user\b|\bme\b|perms|csrf", read("threads/message.html"))


def test_a_drawing_is_silent_for_screen_readers():
    assert 'aria-hidden="true"' in icon("pin")
    assert "#i-pin" in icon("pin")


def test_a_clock_is_named_by_its_city():
    assert zone_city("Europe/Lisbon") == "Lisbon"
    assert zone_city("America/Argentina/Buenos_Aires") == "Buenos Aires"
    assert zone_city("UTC") == "UTC"
