"""A page that received events shows the same as a fresh page."""

import json
import random
import re
from contextlib import suppress

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from tests.browser.conftest import live, write

pytestmark = pytest.mark.browser

REACTIONS = ("👍", "❤️", "😄", "🎉", "👀", "✅")
# The conversation and the list without the state of one visit: focus, hover, the position of
# the unread line, and the time a user was last online.
SHOWN = """() => {
    const copy = document.querySelector(".rooms").cloneNode(true);
    const passing = `.unread-line, .tools, template, #message-menu, [data-typing], [data-jump],
        [data-newer], [data-older], .local, .presence, noscript, .composer, .about`;
    for (const one of copy.querySelectorAll(passing)) one.remove();
    const describe = (node, depth) => {
        if (node.nodeType === Node.TEXT_NODE) {
            const text = node.data.trim().replace(/\\s+/g, " ");
            return text ? [" ".repeat(depth) + text] : [];
        }
        if (node.nodeType !== Node.ELEMENT_NODE) return [];
        const names = [...node.getAttributeNames()].filter((name) => !SKIPPED.has(name)).sort();
        const given = names.map((name) => `${name}=${value(node, name)}`).join(" ");
        const head = " ".repeat(depth) + node.localName + " " + given;
        return [head, ...[...node.childNodes].flatMap((child) => describe(child, depth + 1))];
    };
    const SKIPPED = new Set(["tabindex", "autofocus", "data-cursors"]);
    const value = (node, name) => {
        if (name === "class") return [...node.classList].sort().join(".");
        if (name === "data-at" || name === "datetime" || name === "data-until") {
            const at = node.getAttribute(name);
            return at && new Date(at).toISOString();
        }
        if (name === "data-rev" && node.matches("[data-timeline]")) return "";
        if (name === "data-last-seq" || (name === "data-unread" && node.matches("ol"))) return "";
        return node.getAttribute(name);
    };
    const parts = [".thread-head h1", ".thread-banners", "[data-timeline]", ".rows"];
    return parts.flatMap((part) => describe(copy.querySelector(part), 0));
}"""

SHOWS = f"(lines) => JSON.stringify(({SHOWN})()) === JSON.stringify(JSON.parse(lines))"


class RandomUser:
    """A user with random actions, which are the same for the same seed."""

    def __init__(self, page: Page, rng: random.Random) -> None:
        self.page, self.rng = page, rng
        self.count = 0

    def own_messages(self):
        return self.page.locator(".message.mine:not(.sending, .removing):has([data-body])")

    def act_randomly(self) -> None:
        actions = [self.write] * 4 + [self.react] * 3 + [self.reply, self.edit, self.remove]
        self.rng.choice(actions)()

    def write(self) -> None:
        self.count += 1
        samples = ["plain", "**bold** and `code`", "- a\n- list", "two\n\nparagraphs", "> quoted"]
        write(self.page, f"{self.count}: {self.rng.choice(samples)}")

    def _send(self, type_: str, locator, **fields) -> None:
        """Sends the frame of a button without its delay."""
        message = locator.get_attribute("data-message")
        frame = {"type": type_, "message": message, **fields}
        frame["thread"] = self.page.locator("[data-timeline]").get_attribute("data-thread")
        self.page.evaluate("(frame) => sockets.at(-1).send(JSON.stringify(frame))", frame)

    def _random_message(self, locator):
        # Selects by id, since the other user may remove a message at any moment.
        ids = locator.evaluate_all("all => all.map((one) => one.dataset.message)")[-12:]
        if not ids:
            return None
        return self.page.locator(f"[data-timeline] > [data-message='{self.rng.choice(ids)}']")

    def react(self) -> None:
        one = self._random_message(self.page.locator(".message:not(.sending):has([data-body])"))
        reaction, on = self.rng.choice(REACTIONS), self.rng.random() < 0.7
        if one:
            self._send("message.react", one, reaction=reaction, on=on)

    def reply(self) -> None:
        one = self._random_message(self.page.locator(".message:not(.sending):has([data-body])"))
        if not one:
            return
        one.evaluate("one => one.focus()")
        one.evaluate("one => one.querySelector('.tools [data-act=reply]')?.click()")
        self.write()

    def edit(self) -> None:
        one = self._random_message(self.own_messages())
        if one:
            self.count += 1
            self._send("message.edit", one, body=f"edited {self.count}, *again*")

    def remove(self) -> None:
        one = self._random_message(self.own_messages())
        if one and self.rng.random() < 0.5:
            self._send("message.remove", one)


def settle(*pages: Page) -> None:
    """Waits until every message is sent, and read by the other user."""
    for page in pages:
        expect(page.locator(".message.sending")).to_have_count(0)
        expect(page.locator(".message.mine [data-ticks]").last).to_have_attribute(
            "data-tick", "read"
        )


def load_all(page: Page) -> None:
    """Loads the older messages of a fresh page by scrolling up."""
    older = page.locator("[data-older]")
    while older.count():
        first = page.locator(".message[data-seq]").first.get_attribute("data-seq")
        older.evaluate("one => one.scrollIntoView()")
        expect(page.locator(".message[data-seq]").first).not_to_have_attribute("data-seq", first)


def compare(page: Page) -> None:
    fresh = page.context.new_page()
    fresh.goto(page.url)
    live(fresh)
    load_all(fresh)
    settle(fresh)
    # Events still in transit to either page arrive meanwhile.
    for _ in range(15):
        with suppress(TimeoutError):
            shown = fresh.evaluate(SHOWN)
            page.wait_for_function(SHOWS, arg=json.dumps(shown), timeout=1_000)
            break
    assert page.evaluate(SHOWN) == fresh.evaluate(SHOWN)
    fresh.close()


def run_random_actions(visit, pair, seed: int, steps: int) -> None:
    pages = [
        live(visit(account, f"/threads/{pair.thread}/")) for account in (pair.buyer, pair.seller)
    ]
    rng = random.Random(seed)
    users = [RandomUser(page, rng) for page in pages]
    for user in users:
        user.write()
    offline_page = None
    for _ in range(steps):
        if offline_page and rng.random() < 0.4:
            offline_page.context.set_offline(False)
            live(offline_page)
            offline_page = None
        elif not offline_page and rng.random() < 0.15:
            offline_page = rng.choice(pages)
            offline_page.context.set_offline(True)
            expect(offline_page.locator("html")).to_have_attribute("data-live", "no")
        user = rng.choice(users)
        if user.page is offline_page:
            user.write()
        else:
            user.act_randomly()
    if offline_page:
        offline_page.context.set_offline(False)
        live(offline_page)
    for user in users:
        user.write()
    settle(*pages)
    for page in pages:
        compare(page)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_page_plus_events_equals_a_fresh_page(visit, pair, seed):
    run_random_actions(visit, pair, seed, steps=25)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 22))
def test_a_page_plus_many_events_equals_a_fresh_page(visit, pair, seed):
    run_random_actions(visit, pair, seed, steps=80)


def test_the_comparison_detects_a_single_tick(visit, pair):
    page = live(visit(pair.buyer, f"/threads/{pair.thread}/"))
    before = page.evaluate(SHOWN)
    assert any(re.search("data-tick", line) for line in before)
    page.locator(".message.mine [data-ticks]").last.evaluate("one => { one.dataset.tick = 'x' }")
    assert page.evaluate(SHOWN) != before
