"""Deliveries of a booking: so many, each of a bounded size; a refusal stores nothing."""

import pytest

from contracts.actions import manifests
from contracts.actions.manifests import (
    MAX_ENTRIES,
    MAX_LINK_CHARS,
    MAX_LISTING_BYTES,
    MAX_MANIFESTS_PER_BOOKING,
    MAX_NAME_CHARS,
    MAX_TITLE_CHARS,
    add_manifest,
    read_listing,
)
from contracts.models import DeliverableManifest
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from tests.contracts.conftest import book

LINK = "https://files.example/"


@pytest.fixture
def leg(thread, buyer, seller):
    return book(thread, buyer, seller)


def line(name, link=LINK) -> str:
    return f"{'a' * 64} 12 {link} {name}"


def deliver(leg, key, listing="", title="Finals"):
    listing = listing or line("a.jpg")
    return add_manifest(leg.seller, leg_id=leg.id, key=key, title=title, listing=listing)


def stored() -> tuple[int, int]:
    return DeliverableManifest.objects.count(), OutboxEntry.objects.count()


def assert_refused(leg, code, **given) -> Refusal:
    before = stored()
    with pytest.raises(Refusal) as refused:
        deliver(leg, "one beyond", **given)
    assert refused.value.code == code
    assert stored() == before
    return refused.value


@pytest.mark.storage
def test_a_booking_has_so_many_deliveries(leg, monkeypatch):
    monkeypatch.setattr(manifests, "MAX_MANIFESTS_PER_BOOKING", 3)
    made = [deliver(leg, f"{number}")[0] for number in range(3)]
    refusal = assert_refused(leg, "ACTION_INVALID_STATE")
    assert "3 deliveries" in refusal.message
    # A repeat of one that is there finds it, and another booking is not concerned.
    assert deliver(leg, "2") == (made[2], [])
    deliver(book(leg.thread_id, leg.buyer, leg.seller), "other")
    assert MAX_MANIFESTS_PER_BOOKING == 50


def test_a_list_has_so_many_bytes(leg):
    # Two-byte letters: what counts is what is stored, not how many letters there are.
    lines = [line(f"{number:04} " + "é" * 200) for number in range(MAX_ENTRIES)]
    text = "\n".join(lines)
    cut = text.encode()[:MAX_LISTING_BYTES].decode(errors="ignore").rstrip()
    lines = cut.splitlines()[:-1]
    lines.append(
        line("b" * (MAX_LISTING_BYTES - len("\n".join(lines).encode()) - len(line("")) - 1))
    )
    most = "\n".join(lines)
    assert len(most.encode()) == MAX_LISTING_BYTES
    assert len(deliver(leg, "most", most)[0].entries) == len(lines)
    refusal = assert_refused(leg, "OFFER_INVALID", listing=f"{most}b")
    assert "larger than 512 KB" in refusal.message


def test_a_list_has_so_many_files(leg):
    lines = [line(f"{number}") for number in range(MAX_ENTRIES)]
    assert len(deliver(leg, "most", "\n".join(lines))[0].entries) == MAX_ENTRIES
    assert_refused(leg, "OFFER_INVALID", listing="\n".join([*lines, line("one more")]))


def test_names_links_and_titles_have_so_many_characters(leg):
    name = "é" * MAX_NAME_CHARS
    link = LINK + "a" * (MAX_LINK_CHARS - len(LINK))
    title = "é" * MAX_TITLE_CHARS
    deliver(leg, "most", line(name, link), title)
    assert_refused(leg, "OFFER_INVALID", listing=line(f"{name}é", link))
    assert_refused(leg, "OFFER_INVALID", listing=line(name, f"{link}a"))
    assert_refused(leg, "OFFER_INVALID", title=f"{title}é")


@pytest.mark.parametrize("link", ["https://[", "https://[a]b/", "https://a℀.example/"])
def test_a_link_that_cannot_be_read_is_refused(link):
    with pytest.raises(Refusal, match="OFFER_INVALID"):
        read_listing(line("a.jpg", link))
