"""What browsers fetch besides the page: little, and the same as was written."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.admin import __file__ as admin
from django.contrib.staticfiles.storage import staticfiles_storage
from playwright.sync_api import Browser

from messaging_site.storage import lean

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "static"
STYLES = sorted(STATIC.rglob("*.css"))
KB = 1024

# Every rule as the browser took it, whatever it was written like.
RULES = """(text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    return [...sheet.cssRules].map((rule) => rule.cssText.replace(/\\s+/g, " "));
}"""


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("// Why.\nlet a = 1;", "let a = 1;"),
        ("{\n  // Why,\n  // and how.\n  a();\n}", "{\na();\n}"),
        ("/** Why. */\na();", "a();"),
        ("/*\n * Why:\n */\na();\n/* Once more. */\nb();", "a();\nb();"),
        ("a(); // beside", "a(); // beside"),
        ('const at = "https://here/*";\n/* Why. */\na();', 'const at = "https://here/*";\na();'),
        ("/* one */ a(); /* two */", "/* one */ a(); /* two */"),
        ("a {\n    b: c;\n\n    d: e;\n}\n", "a {\nb: c;\nd: e;\n}"),
    ],
)
def test_what_is_there_for_readers_stays_at_home(source, left):
    assert lean(source.encode()).decode() == f"{left}\n"


@pytest.mark.browser
@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.name)
def test_a_style_means_the_same_when_it_is_lean(browser: Browser, path):
    page = browser.new_page()
    try:
        source = path.read_bytes()
        rules = page.evaluate(RULES, source.decode())
        assert rules
        assert page.evaluate(RULES, lean(source).decode()) == rules
        assert len(lean(source)) < len(source)
    finally:
        page.close()


def test_no_text_over_several_lines_looks_like_a_comment():
    """What begins like one, on a line of its own inside of backticks, would go as well."""
    for path in STATIC.rglob("*.js"):
        for text in re.findall(r"`[^`]*`", lean(path.read_bytes()).decode()):
            assert text in re.sub(r"\n\s+", "\n", path.read_text()), path


def test_ours_are_collected_lean_and_those_of_others_as_they_are():
    assert _collected("site/page.js").startswith(b"import ")
    name = "admin/js/core.js"
    assert _collected(name) == (Path(admin).parent / "static" / name).read_bytes()


def test_styles_and_scripts_of_the_thread_page_are_light():
    """All that a page fetches by itself, with a panel, and with the keys that come last."""
    pages = (ROOT / "templates" / "base.html", ROOT / "templates" / "inbox" / "shell.html")
    text = "".join(path.read_text() for path in pages)
    links = set(re.findall(r"stylesheet.*'(site/\w+)\.css'", text))
    styles = {f"{name}.css" for name in links | {"site/keys"}} - {"site/pages.css"}
    scripts = frozenset[Path]()
    for name in ("site/page.js", "threads/panel.js", "inbox/keys.js"):
        scripts = _imported(STATIC / name, scripts)
    names = styles | {str(path.relative_to(STATIC)) for path in scripts}
    assert len(names) > 40
    assert sum(_packed(name) for name in names) <= 57 * KB


def _imported(module: Path, known: frozenset[Path]) -> frozenset[Path]:
    """What comes with it; what is fetched when somebody first wants it does not."""
    found = known | {module}
    for name in re.findall(r'^import[^;]*?"(\.[^"]+)"', module.read_text(), re.M):
        path = (module.parent / name).resolve()
        if path not in found:
            found = _imported(path, found)
    return found


def _collected(name: str, packed: str = "") -> bytes:
    stored = staticfiles_storage.url(name).removeprefix(settings.STATIC_URL)
    return Path(staticfiles_storage.path(stored + packed)).read_bytes()


def _packed(name: str) -> int:
    """As a browser gets it over HTTPS. What would hardly be smaller goes out as it is."""
    try:
        return len(_collected(name, ".br"))
    except FileNotFoundError:
        return len(_collected(name))
