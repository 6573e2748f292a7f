"""A remote image on the moodboard is fetched by the server, never by a browser, for both users."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.booking import book
from tests.browser.test_attachments import wait_for_images
from tests.browser.test_project import tab
from tests.files.conftest import picture
from tests.files.fake_web import HOST, Web
from tests.site import Site, prepared_site

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    with Web(tmp_path_factory.mktemp("web")).serving() as web:
        yield web


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, web: Web) -> Iterator[Site]:
    """A site that fetches images only from the web server of this test."""
    folder: Path = tmp_path_factory.mktemp("fetching") / "data"
    site = prepared_site(folder)
    site.env |= {
        "PARLEY_FETCH_PINS": "on",
        "PARLEY_TEST_WEB_PORT": str(web.port),
        "PARLEY_TEST_CERTIFICATE": str(web.certificate),
    }
    site.module = "tests.browser.fetching_server"
    site.start()
    try:
        yield site
    finally:
        site.stop()


@pytest.fixture
def pair(site: Site):
    return site.pair()


def test_a_pasted_address_becomes_an_image_on_both_screens(visit, pair, web):
    link = web.give("/grey-door.jpg", picture())
    path = f"/threads/{pair.thread}/"
    buyer, seller = visit(pair.buyer, path), visit(pair.seller, path)
    book(buyer, seller)
    board, other = tab(buyer, "moodboard"), tab(seller, "moodboard")
    for count, address in enumerate((link, web.link("/missing.jpg")), 1):
        board.get_by_label("Link to pin").fill(address)
        board.get_by_role("button", name="Pin", exact=True).click()
        expect(board.locator(".pin")).to_have_count(count)
    for shown in (board, other):
        expect(shown.locator(".pin img")).to_have_count(1)
        expect(shown.locator(".pin-link")).to_have_count(2)
        wait_for_images(shown.page, ".pin img")
        source = shown.locator(".pin", has=shown.page.locator("img")).locator(".pin-link")
        expect(source).to_have_attribute("href", link)
        expect(source).to_contain_text(HOST)
    assert web.asked.count("/grey-door.jpg") == 1
