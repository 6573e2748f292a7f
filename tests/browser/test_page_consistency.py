"""A page that lived through what happened shows what a fresh one shows."""

import json
import random
import re
from contextlib import suppress

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from tests.browser.conftest import live, write

pytestmark = pytest.mark.browser

REACTIONS = ("👍", "❤️", "😄", "🎉", "👀", "✅")
# Everything of the conversation and the list beside it that does not belong to one look at it:
# where the focus is, what is pointed at, where reading stopped, how long ago somebody was here.
SHOWN = """() => {
    const copy = document.querySelector(".rooms").cloneNode(true);
    const passing = `.unread-line, .tools, template, #message-menu, [data-typing], [data-jump],
        [data-newer], [data-older], .local, .presence, noscript, .composer, .about`;
    for (const one of copy.querySelectorAll(passing)) one.remove();
    const say = (node, depth) => {
        if (node.nodeType === Node.TEXT_NODE) {
            const text = node.data.trim().replace(/\\s+/g, " ");
            return text ? [" ".repeat(depth) + text] : [];
        }
        if (node.nodeType !== Node.ELEMENT_NODE) return [];
        const names = [...node.getAttributeNames()].filter((name) => !SKIPPED.has(name)).sort();
        const given = names.map((name) => `${name}=${value(node, name)}`).join(" ");
        const head = " ".repeat(depth) + node.localName + " " + given;
        return [head, ...[...node.childNodes].flatMap((child) => say(child, depth + 1))];
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
    return parts.flatMap((part) => say(copy.querySelector(part), 0));
}"""

SHOWS = f"(lines) => JSON.stringify(({SHOWN})()) === JSON.stringify(JSON.parse(lines))"


class Person:
    """Somebody at a page who does things by chance, and always the same for the same seed."""

    def __init__(self, page: Page, dice: random.Random) -> None:
        self.page, self.dice = page, dice
        self.said = 0

    def mine(self):
        return self.page.locator(".message.mine:not(.sending, .removing):has([data-body])")

    def act(self) -> None:
        deeds = [self.write] * 4 + [self.react] * 3 + [self.answer, self.edit, self.remove]
        self.dice.choice(deeds)()

    def write(self) -> None:
        self.said += 1
        bits = ["plain", "**bold** and `code`", "- a\n- list", "two\n\nparagraphs", "> quoted"]
        write(self.page, f"{self.said}: {self.dice.choice(bits)}")

    def _send(self, type_: str, locator, **fields) -> None:
        """What the buttons send, without waiting for their time to pass."""
        message = locator.get_attribute("data-message")
        frame = {"type": type_, "message": message, **fields}
        frame["thread"] = self.page.locator("[data-timeline]").get_attribute("data-thread")
        self.page.evaluate("(frame) => sockets.at(-1).send(JSON.stringify(frame))", frame)

    def _one(self, locator):
        # By its id, since the other may remove one of them at any moment.
        ids = locator.evaluate_all("all => all.map((one) => one.dataset.message)")[-12:]
        if not ids:
            return None
        return self.page.locator(f"[data-timeline] > [data-message='{self.dice.choice(ids)}']")

    def react(self) -> None:
        one = self._one(self.page.locator(".message:not(.sending):has([data-body])"))
        reaction, on = self.dice.choice(REACTIONS), self.dice.random() < 0.7
        if one:
            self._send("message.react", one, reaction=reaction, on=on)

    def answer(self) -> None:
        one = self._one(self.page.locator(".message:not(.sending):has([data-body])"))
        if not one:
            return
        one.evaluate("one => one.focus()")
        one.evaluate("one => one.querySelector('.tools [data-act=reply]')?.click()")
        self.write()

    def edit(self) -> None:
        one = self._one(self.mine())
        if one:
            self.said += 1
            self._send("message.edit", one, body=f"edited {self.said}, *again*")

    def remove(self) -> None:
        one = self._one(self.mine())
        if one and self.dice.random() < 0.5:
            self._send("message.remove", one)


def settle(*pages: Page) -> None:
    """Everything that was written is sent, and read by the other."""
    for page in pages:
        expect(page.locator(".message.sending")).to_have_count(0)
        expect(page.locator(".message.mine [data-ticks]").last).to_have_attribute(
            "data-tick", "read"
        )


def load_all(page: Page) -> None:
    """A fresh page has the newest; the others come when one scrolls up."""
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
    # What is still on its way to either of them arrives meanwhile.
    for _ in range(15):
        with suppress(TimeoutError):
            shown = fresh.evaluate(SHOWN)
            page.wait_for_function(SHOWS, arg=json.dumps(shown), timeout=1_000)
            break
    assert page.evaluate(SHOWN) == fresh.evaluate(SHOWN)
    fresh.close()


def walk(visit, pair, seed: int, steps: int) -> None:
    pages = [live(visit(who, f"/threads/{pair.thread}/")) for who in (pair.buyer, pair.seller)]
    dice = random.Random(seed)
    people = [Person(page, dice) for page in pages]
    for person in people:
        person.write()
    away = None
    for _ in range(steps):
        if away and dice.random() < 0.4:
            away.context.set_offline(False)
            live(away)
            away = None
        elif not away and dice.random() < 0.15:
            away = dice.choice(pages)
            away.context.set_offline(True)
            expect(away.locator("html")).to_have_attribute("data-live", "no")
        person = dice.choice(people)
        if person.page is away:
            person.write()
        else:
            person.act()
    if away:
        away.context.set_offline(False)
        live(away)
    for person in people:
        person.write()
    settle(*pages)
    for page in pages:
        compare(page)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_page_plus_events_equals_a_fresh_page(visit, pair, seed):
    walk(visit, pair, seed, steps=25)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 22))
def test_a_page_plus_many_events_equals_a_fresh_page(visit, pair, seed):
    walk(visit, pair, seed, steps=80)


def test_the_comparison_notices_a_single_tick(visit, pair):
    page = live(visit(pair.buyer, f"/threads/{pair.thread}/"))
    before = page.evaluate(SHOWN)
    assert any(re.search("data-tick", line) for line in before)
    page.locator(".message.mine [data-ticks]").last.evaluate("one => { one.dataset.tick = 'x' }")
    assert page.evaluate(SHOWN) != before
