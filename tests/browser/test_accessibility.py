"""axe finds nothing: on any page, in light and dark, on a desk and on a phone."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import DESKTOP, PHONE

pytestmark = pytest.mark.browser

SIGNED_OUT = ["/", "/accounts/login/", "/accounts/signup/", "/accounts/password/reset/"]
SIGNED_IN = [
    "/inbox/",
    "/inbox/archived/",
    "/settings/",
    "/accounts/email/",
    "/accounts/password/change/",
    "/styleguide/",
    "/nowhere/",
]


def problems(page) -> list[str]:
    found = Axe().run(page)
    return [
        f"{violation['id']}: {node['html'][:160]}"
        for violation in found.response["violations"]
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("device", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_nothing_is_wrong_on_any_page(visit, site, pair, device, scheme):
    found = {}
    page = visit(None, "/", color_scheme=scheme, **device)
    for path in SIGNED_OUT:
        page.goto(path)
        found[path] = problems(page)
    page = visit(pair.buyer, "/inbox/", color_scheme=scheme, expected_status=404, **device)
    for path in [*SIGNED_IN, f"/threads/{pair.thread}/", *of_the_seller(page, pair)]:
        page.goto(path)
        found[path] = problems(page)
    page.goto(f"/threads/{pair.thread}/")
    for name in ("people in this conversation", "What you can do"):
        page.get_by_role("button", name=name).click()
        found[name] = problems(page)
        page.keyboard.press("Escape")
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def of_the_seller(page, pair) -> list[str]:
    page.goto(f"/threads/{pair.thread}/")
    profile = page.locator(".thread-title a").first.get_attribute("href")
    return [profile, f"{profile}start/"]


@pytest.mark.parametrize("path", ["/inbox/", "thread", "/settings/", "/accounts/signup/"])
def test_nothing_is_wider_than_a_phone(visit, pair, path):
    path = f"/threads/{pair.thread}/" if path == "thread" else path
    account = None if "signup" in path else pair.buyer
    page = visit(account, path, **PHONE)
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360
