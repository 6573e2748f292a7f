"""Accessibility and layout of pages, on phone and desktop, in light and dark."""

from urllib.parse import urlencode

import pytest
from axe_playwright_python.base import AXE_SCRIPT

from tests.design.conftest import open_page

TAB_NAMES = ("overview", "brief", "moodboard", "shotlist", "files", "docs", "expenses", "actions")
pytestmark = [pytest.mark.browser]

PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1440, "height": 900}
SIZES = {"phone": PHONE, "desk": DESKTOP}
PUBLIC_PAGES = [
    *("/", "/styleguide/"),
    *("/accounts/login/", "/accounts/signup/", "/accounts/password/reset/"),
]
USER_PAGES = [
    *("/inbox/", "/inbox/archived/", "/settings/", "/accounts/email/", "/accounts/logout/"),
    *("/people/", "/people/?q=nothingofthekind", "/settings/services/"),
    *("/people/{me}/", "/people/{other}/", "/people/{other}/start/", "/threads/{thread}/"),
    *("/threads/{project}/offer/", "/contracts/{contract}/"),
    *("/threads/{project}/cards/cancel/", "/cards/{card}/", "/cards/{card}/counter/"),
    *("/cards/{proofs}/", "/cards/{proofs}/approve/", "/cards/{proofs}/request_changes/"),
    "/cards/{asked}/",
    *("/threads/{project}/cards/dispute/", "/threads/{project}/cards/safety/", "/cards/{dispute}/"),
    *("/receipts/{receipt}/", "/deliverables/{manifest}/"),
    *("/bookings/{sale}/payment/", "/receipts/{sale_receipt}/reverse/"),
    "/threads/{sale_thread}/cards/complete/",
    *("/settings/data/", "/settings/data/delete/"),
    *("/calendar/", "/calendar/?month=2027-05"),
    *(f"/threads/{{project}}/panel/{tab}/" for tab in TAB_NAMES),
]
# Checked in each frame: the promise of a transition that is replaced by another one stays pending.
SETTLED = """() => new Promise((settled) => {
  const isRunning = ({ playState }) => playState === "running";
  const check = (frames) => {
    if (frames === 0 || !document.getAnimations().some(isRunning)) settled();
    else requestAnimationFrame(() => check(frames - 1));
  };
  check(300);
})"""
PAINTED = """(theme) => new Promise((painted) => requestAnimationFrame(() =>
    requestAnimationFrame(() => painted(matchMedia(`(prefers-color-scheme: ${theme})`).matches))
))"""
OBSERVE_SHIFTS = """
globalThis.layoutShift = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) layoutShift += one.value;
}).observe({ type: "layout-shift", buffered: true });
"""
BACKGROUND = "getComputedStyle(document.documentElement).backgroundColor"
VIOLATIONS = """([within, options]) => axe
    .run(within, { resultTypes: ["violations"], ...options })
    .then((found) => found.violations)"""
# The themes differ only in colours, so the dark one is checked only by the colour rules.
COLOUR_RULES = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}
THEMES = {"light": {}, "dark": COLOUR_RULES}


@pytest.mark.parametrize("path", PUBLIC_PAGES)
def test_a_public_page_has_no_problems(open_as_stranger, path):
    assert problems_at_all_sizes(open_as_stranger(path)) == []


@pytest.mark.parametrize("path", USER_PAGES)
def test_a_page_for_users_has_no_problems(open_as_user, scene, path):
    assert problems_at_all_sizes(open_as_user(path.format(**scene))) == []


@pytest.mark.parametrize(
    ("query", "selector"),
    [
        ("", ".empty code"),
        ("questions", ".hit mark"),
        ("nothingofthekind", ".search .empty h2"),
        ("has:wings questions", ".search .banner"),
    ],
    ids=["before", "found", "nothing", "unclear"],
)
def test_the_search_page_has_no_problems(open_as_user, query, selector):
    page = open_as_user(f"/inbox/search/?{urlencode({'q': query})}")
    for name, size in SIZES.items():
        page.set_viewport_size(size)
        assert page.locator(selector).first.is_visible(), name
    assert problems_at_all_sizes(page) == []


def test_the_not_found_page_has_no_problems(open_as_stranger):
    assert problems_at_all_sizes(open_as_stranger("/nowhere/", status=404)) == []


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("menu", ["people", "thread-menu", "account-menu"])
def test_a_menu_opens_inside_the_window_and_has_no_problems(open_as_user, scene, size, menu):
    start_at = "/inbox/" if menu == "account-menu" else "/threads/{thread}/"
    page = open_as_user(start_at.format(**scene), size=size)
    page.click(f"[popovertarget={menu}]")
    box = page.locator(f"#{menu}").bounding_box()
    assert box["x"] >= 0
    assert box["y"] >= 0
    assert box["x"] + box["width"] <= size["width"]
    assert box["y"] + box["height"] <= size["height"]
    assert problems(page, within=f"#{menu}") == []


def test_without_a_script_menus_open_and_a_thread_opens_at_its_newest_message(
    signed_in, site, scene
):
    context = signed_in(viewport=PHONE, java_script_enabled=False)
    page = open_page(context, f"{site.url}/threads/{scene['thread']}/")
    newest = page.locator(".message").last.bounding_box()
    composer = page.locator("[data-composer]").bounding_box()
    assert newest["y"] + newest["height"] <= composer["y"]
    assert composer["y"] + composer["height"] <= PHONE["height"]
    page.click("[popovertarget=thread-menu]")
    assert page.locator("#thread-menu").is_visible()


def test_a_refused_long_word_stays_in_the_text_field(signed_in, site, scene):
    context = signed_in(viewport=PHONE, java_script_enabled=False)
    page = open_page(context, f"{site.url}/threads/{scene['thread']}/")
    page.fill("#compose", "x" * 8001)
    page.click(".send")
    assert page.locator("[data-composer] [role=alert]").is_visible()
    assert page.input_value("#compose") == "x" * 8001
    box = page.locator(".composer-box").bounding_box()
    assert box["x"] + box["width"] <= PHONE["width"]
    assert box["y"] + box["height"] <= PHONE["height"]


def test_a_link_to_a_message_shows_it_without_a_script(signed_in, site, scene):
    context = signed_in(viewport=PHONE, java_script_enabled=False)
    page = open_page(context, f"{site.url}/threads/{scene['thread']}/")
    first = page.locator(".message[data-type=text]").first
    message, link = (
        first.get_attribute("id"),
        first.locator("[data-copy-link]").get_attribute("href"),
    )
    page.goto(site.url + link)
    box = page.locator(f"#{message}").bounding_box()
    assert 0 <= box["y"] < PHONE["height"]


def test_the_chosen_theme_overrides_the_system_theme(new_context, site):
    context = new_context(color_scheme="light")
    page = open_page(context, f"{site.url}/accounts/login/")
    assert page.evaluate(BACKGROUND) == "rgb(246, 243, 237)"
    context.add_cookies([{"name": "theme", "value": "dark", "url": site.url}])
    page.reload()
    assert page.evaluate(BACKGROUND) == "rgb(28, 26, 24)"


@pytest.mark.parametrize(
    "path", ["/threads/{thread}/", "/inbox/", "/settings/", "/threads/{project}/panel/shotlist/"]
)
def test_on_a_phone_touch_targets_are_large_enough_and_no_field_zooms(signed_in, site, scene, path):
    context = signed_in(viewport=PHONE, has_touch=True, is_mobile=True)
    page = open_page(context, site.url + path.format(**scene))
    for control in page.locator(":is(.button, .rail-item, .row-link, .tabs a):visible").all():
        box = control.bounding_box()
        assert min(box["width"], box["height"]) >= 44, control.inner_text()
    for field in page.locator(":is(input, textarea, select):visible").all():
        assert field.evaluate("field => parseFloat(getComputedStyle(field).fontSize)") >= 16


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("path", ["/inbox/", "/threads/{thread}/", "/threads/{project}/"])
def test_the_layout_does_not_shift_while_a_page_loads(signed_in, site, scene, path, size):
    context = signed_in(viewport=size)
    context.add_init_script(OBSERVE_SHIFTS)
    page = open_page(context, site.url + path.format(**scene))
    page.wait_for_load_state("networkidle")
    page.evaluate(SETTLED)
    assert page.evaluate("layoutShift") < 0.02


# 720 px is 1440 px at 200 % zoom.
@pytest.mark.parametrize("width", [720, 820, 1100])
@pytest.mark.parametrize("path", ["/threads/{thread}/", "/threads/{project}/"])
def test_parts_of_the_thread_header_do_not_overlap(open_as_user, scene, path, width):
    page = open_as_user(path.format(**scene), size={"width": width, "height": 700})
    shown = [part.bounding_box() for part in page.locator(".thread-title :is(h1, .local)").all()]
    buttons = [part.bounding_box() for part in page.locator(".thread-head .button:visible").all()]
    end = max(box["x"] + box["width"] for box in shown)
    assert end <= min(box["x"] for box in buttons)
    assert max(box["x"] + box["width"] for box in buttons) <= width


def problems_at_all_sizes(page) -> list[str]:
    """The problems at every size; resizing suffices, since the layout uses media queries."""
    found_problems: list[str] = []
    for name, size in SIZES.items():
        page.set_viewport_size(size)
        found_problems += [f"{name}, {problem}" for problem in problems(page)]
    return found_problems


def problems(page, *, within: str = "html") -> list[str]:
    """The violations that axe finds in both themes, and horizontal overflow."""
    found_problems: list[str] = []
    if not page.evaluate("'axe' in globalThis"):
        page.evaluate(AXE_SCRIPT)
    for theme, options in THEMES.items():
        page.emulate_media(color_scheme=theme)
        # The browser applies the theme on its next paint, which must not happen during the check.
        assert any(page.evaluate(PAINTED, theme) for _ in range(50)), f"never {theme}"
        page.evaluate(SETTLED)
        found = page.evaluate(VIOLATIONS, [within, options])
        found_problems += [
            f"{theme}, {one['id']}: {node['html']}" for one in found for node in one["nodes"]
        ]
    wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return found_problems + ([f"{wider} px too wide"] if wider > 0 else [])
