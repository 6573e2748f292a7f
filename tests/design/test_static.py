"""Static files: their size, and that minifying does not change them."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.admin import __file__ as admin
from django.contrib.staticfiles.storage import staticfiles_storage
from playwright.sync_api import Browser

from messaging_site.storage import minify_script

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "static"
KB = 1024
IMPORTED = r'''(?:\bfrom\s*|\bimport\s*\(?)"(\.[^"]+\.js)"'''

# Scripts in which a minifier that does not parse JavaScript removes too much, and their value.
SCRIPTS = [
    ("`x   y\\n  // not a comment\\n  z`", "x   y\n  // not a comment\n  z"),
    ("`a ${true ? `in   ner // z` : ''}  end`", "a in   ner // z  end"),
    ("`<ul>\n  ${[1, 2].map((n) => `<li>  ${n}</li>`).join('')}\n</ul>`", None),
    ("'https://here/*' + /[`'\"/]  */.source", None),
    ("(() => { let a = 8, g = 2\n/* Why. */\nreturn a / 2 / g })()", 2),
    ("(() => { let a = 1\nlet b = a\n++b\nreturn [a, b] })()", [1, 2]),
]


@pytest.mark.browser
@pytest.mark.parametrize(("source", "value"), SCRIPTS)
def test_a_script_does_the_same_when_it_is_minified(browser: Browser, source, value):
    page = browser.new_page()
    try:
        written = page.evaluate(source)
        assert value in (None, written)
        assert page.evaluate(_minified(f"globalThis.found = {source}") + "; found") == written
    finally:
        page.close()


def test_comments_and_indentation_are_removed_and_names_are_kept():
    source = "/** Why. */\nfunction later(seconds) {\n  // How.\n  return seconds * 1000;\n}"
    assert _minified(source) == "function later(seconds){return seconds*1e3}"


ROW = """<div class="buttons">
  <form><button class="button primary">Accept</button></form>
  <button class="button">Decline</button>
  <a class="button quiet" href="">Suggest a change</a>
</div>"""


@pytest.mark.browser
@pytest.mark.parametrize(("width", "place"), [(1280, -1), (360, 0)])
def test_the_primary_button_is_last_on_desktop_and_first_on_phones(browser: Browser, width, place):
    page = browser.new_page(viewport={"width": width, "height": 600})
    try:
        sheets = [STATIC / "site" / f"{name}.css" for name in ("tokens", "base", "components")]
        style = "".join(sheet.read_text() for sheet in sheets)
        page.set_content(f"<style>{style}</style>{ROW}")
        buttons = [(box.bounding_box(), box.inner_text()) for box in page.locator(".button").all()]
        in_order = sorted((box["y"], box["x"], text) for box, text in buttons if box)
        assert in_order[place][2] == "Accept"
    finally:
        page.close()


def test_our_scripts_are_collected_minified_and_other_files_unchanged():
    assert b"\n" not in _collected("site/main.js")
    assert (
        _collected("site/keyboard_shortcuts.css")
        == (STATIC / "site" / "keyboard_shortcuts.css").read_bytes()
    )
    name = "admin/js/core.js"
    assert _collected(name) == (Path(admin).parent / "static" / name).read_bytes()


def test_every_import_of_a_collected_script_has_a_hashed_name():
    count = 0
    for path in STATIC.rglob("*.js"):
        name = str(path.relative_to(STATIC))
        written = set(re.findall(IMPORTED, path.read_text()))
        collected = set(re.findall(IMPORTED, _collected(name).decode()))
        stored = staticfiles_storage.path(_stored_name(name))
        assert {re.sub(r"\.[0-9a-f]{12}\.js$", ".js", each) for each in collected} == written, name
        assert not collected & written, name
        assert all((Path(stored).parent / each).exists() for each in collected), name
        count += len(collected)
    assert count > 80


def test_styles_and_scripts_of_the_thread_page_are_small():
    """Counts everything a page fetches, with the panel and the keyboard shortcuts loaded last."""
    pages = (ROOT / "templates" / "base.html", ROOT / "templates" / "inbox" / "shell.html")
    text = "".join(path.read_text() for path in pages)
    links = set(re.findall(r"stylesheet.*'(site/\w+)\.css'", text))
    styles = {f"{name}.css" for name in links | {"site/keyboard_shortcuts"}} - {"site/pages.css"}
    scripts = frozenset[Path]()
    for name in ("site/main.js", "threads/panel.js", "inbox/keyboard_shortcuts.js"):
        scripts = _imported(STATIC / name, scripts)
    names = styles | {str(path.relative_to(STATIC)) for path in scripts}
    assert len(names) > 40
    total = sum(_transfer_size(name) for name in names)
    print(f"{total} bytes of styles and scripts in {len(names)} files")
    assert total <= 57 * KB


def _imported(module: Path, seen: frozenset[Path]) -> frozenset[Path]:
    """The statically imported modules, without those that are imported on demand."""
    found = seen | {module}
    for name in re.findall(r'^import[^;]*?"(\.[^"]+)"', module.read_text(), re.M):
        path = (module.parent / name).resolve()
        if path not in found:
            found = _imported(path, found)
    return found


def _minified(source: str) -> str:
    return minify_script(source.encode()).decode()


def _stored_name(name: str) -> str:
    return staticfiles_storage.url(name).removeprefix(settings.STATIC_URL)


def _collected(name: str, suffix: str = "") -> bytes:
    return Path(staticfiles_storage.path(_stored_name(name) + suffix)).read_bytes()


def _transfer_size(name: str) -> int:
    """The size over HTTPS; a file that compression hardly shrinks is stored uncompressed."""
    try:
        return len(_collected(name, ".br"))
    except FileNotFoundError:
        return len(_collected(name))
